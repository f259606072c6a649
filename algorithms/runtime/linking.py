"""Compile inner kernels to LLVM IR only, which halves the work of LLVM.

By default, numba optimizes every function with everything that it calls inlined and compiles it to
machine code, and does so again in each of its callers. For a function that only kernels call, the
machine code of all but the outermost caller is discarded. So an inner kernel is only typed, lowered
to LLVM IR and linked into its callers, where it is optimized once, in context.

The classes use numba's extension points: a compiler pipeline with one pass replaced, a code library
that stops before machine code, and a dispatcher that compiles for the types of a call. numba
identifies callables by a builtin function; here that function has no address.
"""

from numba import _dynfunc, types
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from algorithms.runtime.type_lookups import kernel_pipeline


class LinkedLibrary(CPUCodeLibrary):
    """Code library that is only linked into other libraries."""

    def _optimize_functions(self, ll_module):
        """Run function passes on defined functions only; numba runs them on declarations, too."""
        codegen = self._codegen
        ll_module.data_layout = codegen._data_layout  # noqa: SLF001 - as the method it replaces
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = codegen._function_pass_manager()  # noqa: SLF001
                passes.run(function, builder)

    def _optimize_final_module(self):
        """Do nothing: the library that this one is linked into is optimized."""

    def _finalize_final_module(self):
        """Finalize without generating machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerToLink(NativeLowering):
    """Lower a function to LLVM IR, and register it for its callers."""

    _name = "lower_to_link"

    def run_pass(self, state):
        """Lower the function of a compilation's state; see numba's `NativeLowering`."""
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        described = lowered.fndesc
        stands_for = _dynfunc.make_function(
            described.lookup_module(),
            described.qualname.rpartition(".")[2],
            "an inner kernel: only kernels can call it",
            0,  # no address
            lowered.env,
            (state.library,),  # keeps the library alive as long as the function
        )
        state.targetctx.insert_user_function(stands_for, described, [state.library])
        state["cr"] = lowered._replace(cfunc=stands_for)
        return True


class LinkingCompiler(CompilerBase):
    """numba's nopython compiler with `LowerToLink` as its lowering pass."""

    def define_pipelines(self):
        """Return the one pipeline."""
        return [kernel_pipeline(self.state, {NativeLowering: LowerToLink})]


class LinkedDispatcher(CPUDispatcher):
    """Dispatcher of a function that is only linked into its callers.

    The function is compiled once for each set of non-literal types. numba would compile it for each
    literal argument, as if ``f(0)`` and ``f(1)`` had different types; LLVM sees literals anyway
    when it inlines the function.
    """

    def __init__(self, *given, **options):
        """Accept the arguments of numba's dispatcher except ``pipeline_class``."""
        super().__init__(*given, pipeline_class=LinkingCompiler, **options)

    def get_call_template(self, args, kws):
        """Return numba's template for typing a call; compile the function for it if necessary."""
        plain = [types.unliteral(given) for given in args]
        return super().get_call_template(
            plain, {name: types.unliteral(given) for name, given in kws.items()}
        )
