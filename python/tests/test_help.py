# SPDX-License-Identifier: Apache-2.0
"""help(sluice.Loader): its constructor fits a screen, and two screens show every argument."""
import inspect
import pydoc
import re
import subprocess
import sys
import textwrap

import pytest

import sluice
from sluice import _loader_options

WIDTH, HEIGHT = 100, 60
SHOWN = inspect.signature(_loader_options.shown).parameters
# The function that takes the arguments, without the wrapper of named().
TAKEN = next(cell.cell_contents for cell in sluice.Loader.__init__.__closure__ if inspect.isfunction(cell.cell_contents))


def help_of(what):
    return pydoc.plain(pydoc.render_doc(what))


def lines(text):
    """Returns the lines as a terminal shows them."""
    return sum(max(1, len(textwrap.wrap(line, WIDTH))) for line in text.splitlines())


def test_each_fits_a_screen():
    constructor, methods, _ = help_of(sluice.Loader).partition("Methods defined here")
    assert methods and lines(constructor) <= HEIGHT
    assert lines(help_of(sluice.Loader.__init__)) <= HEIGHT


def test_the_signature_is_short():
    assert inspect.signature(sluice.Loader.__init__).parameters == SHOWN
    assert list(inspect.signature(sluice.Loader).parameters) == list(SHOWN)[1:]
    assert len(SHOWN) <= 22 and {"order", "limits", "io", "rare"} <= set(SHOWN)


@pytest.mark.parametrize("name", list(SHOWN)[:-1])
def test_what_is_shown_is_true(name):
    """Defaults and types equal those of the function."""
    taken, shown = inspect.signature(TAKEN).parameters[name], SHOWN[name]
    assert (shown.default, shown.annotation, shown.kind) == (taken.default, taken.annotation, taken.kind)


def test_every_argument_is_described():
    text = {True: sluice.Loader.__doc__, False: sluice.Loader.__init__.__doc__}
    for name in sluice.Loader.__init__.names:
        assert re.search(rf"\b{name}\b", text[name in SHOWN]), name


def test_rare_arguments_are_taken_and_mistyped_ones_refused(photos):
    crop = sluice.transforms.RandomResizedCrop(8)
    with sluice.Loader(photos, transform=crop, exact=True, io_depth=4, exif="ignore") as made:
        assert made._opened[0]["exact"] == 1 and made._opened[0]["io_depth"] == 4 and made._opened[0]["exif"] == 2
    for name, meant in (("exactt", "exact"), ("io_dept", "io_depth"), ("weigths", "weights")):
        with pytest.raises(TypeError, match=f"{name!r}; did you mean {meant!r}"):
            sluice.Loader(photos, transform=crop, **{name: 1})
    with pytest.raises(TypeError, match="'rare'"):
        sluice.Loader(photos, transform=crop, rare={"exact": True})


def test_the_import_stays_light():
    program = "import sys, sluice; sluice.Loader; sys.exit('inspect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
