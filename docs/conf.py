"""The documentation's build: `make docs` writes the site to build/docs, `make docs-serve` shows it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where `driftwise` is
# Tutorials and figures of the next build need not compile again what these compile.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / "build" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

from tools.site import source_digest  # noqa: E402
from tools.site.mathml import FONTS  # noqa: E402

import driftwise as dw  # noqa: E402

project = "driftwise"
author = "the driftwise contributors"
version = release = dw.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinxcontrib.bibtex",
    "sphinx_copybutton",
    "tools.site.mathml",
    "tools.site.docstrings",
    "tools.site.links",
    "tools.site.streams",
    "tools.site.registries",
]
exclude_patterns = ["_static", "runs"]
suppress_warnings = ["ref.python"]  # types are looked up by their last word, which several may have

# Pages are Markdown that GitHub shows as well. Tutorials are notebooks as text, executed when the site is
# built; what they gave is kept for as long as neither they nor the library change.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_cache_path = str(ROOT / "build" / "notebooks" / source_digest())
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    name: name
    for name in ("Array", "Count", "Key", "NonNegative", "Numeric", "Positive", "Seed", "AtLeastTwo", "Share")
}
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88

# Papers of registered names, which `driftwise show` prints as well, and those that others cite.
bibtex_bibfiles = ["../src/driftwise/analysis/references.bib", "references.bib"]
bibtex_default_style = "plain"

html_theme = "furo"
html_title = f"driftwise {release}"
html_math_renderer = "mathml"
html_static_path = ["_static", str(FONTS)]
html_extra_path = [str(ROOT / "build" / "extra")]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
html_copy_source = False
html_show_copyright = False
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
