"`python -m annotated_transformer` is the `annotated-transformer` command."
import signal


def main() -> None:
    "Ctrl-C ends the command at once, without a traceback, even while modules load; code that must clean up changes this later."
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from annotated_transformer.command_line.main import main

    main()


if __name__ == "__main__":
    main()
