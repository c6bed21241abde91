"""How much memory is free, as far as the system tells."""

from pathlib import Path

import pytest

from rag.support.memory_limits import free_memory

MB = 1 << 20


@pytest.fixture
def machine(tmp_path):
    """A system of 8 GB, half of them free: `machine("a/b")` puts the process into a group."""

    def make(group: str = "") -> Path:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/meminfo").write_text(
            f"MemTotal:  {8000 * 1024} kB\nMemAvailable:   {4000 * 1024} kB\n"
        )
        (tmp_path / "proc/self/cgroup").write_text(f"0::/{group}\n")
        return tmp_path

    return make


def limit(root: Path, group: str, most: object, used: int, cached: int = 0) -> None:
    folder = root / "sys/fs/cgroup" / group
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\n")


def test_without_groups_it_is_what_the_machine_has_available(machine):
    assert free_memory(machine()) == 4000 * MB


class TestGroups:
    def test_a_container_has_what_is_left_of_its_limit(self, machine):
        root = machine()
        limit(root, "", 1500 * MB, 200 * MB)
        assert free_memory(root) == 1300 * MB

    def test_a_group_by_a_name_from_outside_is_passed_over_for_the_root(self, machine):
        root = machine("docker/0123")
        limit(root, "", 900 * MB, 100 * MB)
        assert free_memory(root) == 800 * MB

    def test_files_that_the_system_lets_go_are_free(self, machine):
        root = machine()
        limit(root, "", 1500 * MB, 1400 * MB, cached=1000 * MB)
        assert free_memory(root) == 1100 * MB

    @pytest.mark.parametrize("none", ["max", 0x7FFFFFFFFFFFF000, ""])
    def test_no_limit_leaves_what_the_machine_has(self, machine, none):
        root = machine()
        limit(root, "", none, 100 * MB)
        assert free_memory(root) == 4000 * MB


def test_a_system_that_tells_nothing(tmp_path):
    assert free_memory(tmp_path) is None
