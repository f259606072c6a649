"""Compile a function only as far as its callers need it, which halves the work of LLVM.

numba optimises each function and makes machine code of it, with all that it calls put in; then it
does so again in each of its callers. Of a function that only kernels call, all but the last
caller's is thrown away. So here such a function is typed and lowered to LLVM's form, and linked
into its callers as it is: there it is optimised once, with all that is around it.

The classes extend numba's compiler by its own extension points: a pipeline with one pass
replaced, a library that stops before machine code, and a dispatcher that is asked for the
compiled function of a call's types. numba keeps its callables by a builtin function, so one
without an address stands for the function.
"""

from numba import _dynfunc, types
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from algorithms.runtime.type_lookups import kernel_pipeline


class LinkedLibrary(CPUCodeLibrary):
    """Code that is only ever linked into another library."""

    def _optimize_functions(self, ll_module):
        """Make passes for the functions that have code; numba makes them for all that are named."""
        codegen = self._codegen
        ll_module.data_layout = codegen._data_layout  # noqa: SLF001 - as the method it replaces
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = codegen._function_pass_manager()  # noqa: SLF001
                passes.run(function, builder)

    def _optimize_final_module(self):
        """Leave all optimising to the library this one is linked into."""

    def _finalize_final_module(self):
        """Make no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerToLink(NativeLowering):
    """Lower a function to LLVM's form, and tell its callers where to find that."""

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
            (state.library,),  # is kept as long as the function
        )
        state.targetctx.insert_user_function(stands_for, described, [state.library])
        state["cr"] = lowered._replace(cfunc=stands_for)
        return True


class LinkingCompiler(CompilerBase):
    """numba's compiler of pure machine code, but with `LowerToLink` for its lowering."""

    def define_pipelines(self):
        """Return the one pipeline."""
        return [kernel_pipeline(self.state, {NativeLowering: LowerToLink})]


class LinkedDispatcher(CPUDispatcher):
    """A function that is only linked into its callers, compiled once for each set of plain types.

    numba compiles a function anew for each literal that a caller passes, as if ``f(0)`` and
    ``f(1)`` had different types. LLVM sees a literal anyway, where it puts the function in place.
    """

    def __init__(self, *given, **options):
        """Take what numba's dispatcher does, but for the compiler."""
        super().__init__(*given, pipeline_class=LinkingCompiler, **options)

    def get_call_template(self, args, kws):
        """Return what numba needs to type a call; compile the function for it if need be."""
        plain = [types.unliteral(given) for given in args]
        return super().get_call_template(
            plain, {name: types.unliteral(given) for name, given in kws.items()}
        )
