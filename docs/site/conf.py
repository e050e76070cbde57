# SPDX-License-Identifier: Apache-2.0
"""Configuration of the site for Sphinx. build.py gives it the folder of the built Python package and the version."""
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), os.environ["SLUICE_SITE_PACKAGE"]]

import docstrings  # noqa: E402

project = "sluice"
author = "the sluice authors"
copyright = "the sluice authors, Apache License 2.0"  # noqa: A001
version = release = os.environ["SLUICE_SITE_VERSION"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
nitpicky = True

myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
highlight_language = "text"
default_role = "literal"
smartquotes = False  # pages show options such as --step-ms

napoleon_use_param = False  # an entry may describe two arguments
napoleon_use_ivar = True  # sections of attributes describe members that autodoc lists as well
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
# The modules for training frameworks are documented without the frameworks.
autodoc_mock_imports = ["accelerate", "jax", "keras", "lightning", "numpy", "tensorflow", "timm", "torch", "torchdata", "torchtitan",
                        "torchvision", "transformers"]

# Types of C and POSIX. Names in Python's annotations: most are aliases for type checkers, which have no entry of their own.
nitpick_ignore_regex = [
    ("c:identifier", r"u?int\d+_t|size_t|ssize_t|CUstream_st|CUevent_st"),
    ("py:.*", r".*"),
]

# Annotations name classes without their module: `Loader` is sluice.Loader and sluice.timm.Loader. The link goes to one of them.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"sluice {version}"
html_static_path = [str(Path(__file__).resolve().parent / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6cb8e6", "color-brand-content": "#6cb8e6"},
}


def setup(app):
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)
