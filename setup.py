"""Builds the optional compiled loops; everything else about the package is in pyproject.toml."""

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

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
        "hardzero.kernels._fast",
        ["src/hardzero/kernels/_fast.pyx"],
        depends=[f"src/hardzero/kernels/{name}.hpp" for name in ("fast", "engine", "descent")],
        language="c++",
    ),
    build_dir="build/cython",
)
for extension in loops:
    extension.optional = True  # without a compiler plain NumPy runs; cythonize forgets this flag
setup(ext_modules=loops, cmdclass={"build_ext": Build})
