"""The text of scanned pages and of pictures, by the models that come with the package `rapidocr`.

It is imported where scans are read, in a process of its own: see `rag.vault.document_process`.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from rag.support.file_kinds import IMAGES
from rag.support.files import open_file
from rag.support.processes import lower_priority
from rag.vault.documents import Document

_SCALE = 2.0  # pixels for a point of a PDF, so that letters are as large as the models need
_SIDE = 2_000  # pixels of the longer side; of more the models make no use
_LARGEST = 100_000_000  # pixels of a picture


class NoOcrError(Exception):
    """What reads scans is not installed, or does not work."""


def has_ocr() -> bool:
    """Return whether the package that reads scans is installed."""
    return find_spec("rapidocr") is not None


def read_page(path: str, page: int) -> Document:
    """Return the text of a page of a PDF, from 1, or of a picture: a line for each that was seen.

    :raises OSError: when the file cannot be read.
    :raises NoOcrError: when the models cannot be loaded.
    """
    engine = _engine()
    document = Document()
    with open_file(path) as stream:
        try:
            is_image = path.lower().endswith(tuple(IMAGES))
            image = _picture(stream) if is_image else _rendered(stream, page)
            document.lines = [*(engine(image).txts or ())]
        except MemoryError:
            raise
        except Exception as error:  # whatever a library says of a damaged file
            if getattr(error, "errno", None):  # which the disk says
                raise
            document.problems = [f"{type(error).__name__}: {error}"[:300]]
    return document


@cache
def _engine() -> Any:
    lower_priority()
    try:
        import cv2
        import numpy
        import rapidocr

        cv2.setNumThreads(1)
        models = Path(rapidocr.__file__).parent / "models"
        parts = ("Det", "Rec")
        # A model that is named is not looked for, nor fetched from the network.
        paths = {part: next(models.glob(f"*_{part.lower()}_*.onnx")) for part in parts}
        engine = rapidocr.RapidOCR(
            params={
                **{f"{part}.model_path": str(path) for part, path in paths.items()},
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                # It would tell lines that are upside down, and takes some for these that are not.
                "Global.use_cls": False,
                "Global.log_level": "critical",
            }
        )
        engine(numpy.zeros((64, 64, 3), "uint8"))  # loads what finds text, or fails
        return engine
    except Exception as error:
        raise NoOcrError(f"{type(error).__name__}: {error}") from error


def _rendered(stream: IO[bytes], page: int) -> Any:
    import pypdfium2  # type: ignore[import-untyped]

    sheet = pypdfium2.PdfDocument(stream)[page - 1]
    return sheet.render(scale=min(_SCALE, _SIDE / max(sheet.get_size()))).to_numpy()


def _picture(stream: IO[bytes]) -> Any:
    import numpy
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = _LARGEST
    with Image.open(stream) as image:
        image.draft("RGB", (_SIDE, _SIDE))
        upright = ImageOps.exif_transpose(image).convert("RGB")
        upright.thumbnail((_SIDE, _SIDE))
        return numpy.asarray(upright)[:, :, ::-1]
