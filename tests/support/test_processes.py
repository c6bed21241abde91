"""Other processes of the program, beside this one."""

import os
import subprocess
import sys


def test_a_process_of_low_priority_goes_after_others():
    code = (
        "import os; from rag.support.processes import lower_priority\n"
        "lower_priority(); print(os.nice(0))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(min(19, os.nice(0) + 10))]
