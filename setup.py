"""Builds the optional compiled loops; everything else about the package is in pyproject.toml.

Without a compiler the package is built all the same, and plain NumPy runs. ``HARDZERO_REQUIRE_EXTENSION=1`` in the
environment makes that an error, for wheels that others will install.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

LOOPS = Path("src/hardzero/kernels/_fast.pyx")
GCC = ["-O3", "-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
MSVC = ["/O2", "/std:c++17", "/fp:precise"]


class Build(build_ext):
    """Compiles with flags that keep results equal to NumPy's, bit for bit."""

    def build_extension(self, ext: Extension) -> None:
        """Compile one extension."""
        ext.extra_compile_args = MSVC if self.compiler.compiler_type == "msvc" else GCC
        super().build_extension(ext)


loops = cythonize(
    Extension(
        ".".join(LOOPS.relative_to("src").with_suffix("").parts),
        [LOOPS.as_posix()],
        depends=sorted(path.as_posix() for path in LOOPS.parent.glob("*.hpp")),
        language="c++",
    ),
    build_dir="build/cython",
)
for extension in loops:  # cythonize forgets this flag
    extension.optional = os.environ.get("HARDZERO_REQUIRE_EXTENSION", "") in ("", "0")
setup(ext_modules=loops, cmdclass={"build_ext": Build})
