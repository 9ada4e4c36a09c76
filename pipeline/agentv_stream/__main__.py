"""The entry point of `agentv-stream`, and of `python -m agentv_stream` where no script was installed.

It imports next to nothing, so that Ctrl-C is handled as commands expect from the very start.
"""

import gc

from agentv_stream.live.ctrl_c import die_of_it


def main() -> None:
    """Imports the command line, which is most of the start-up time, and runs it."""
    die_of_it()
    gc.disable()  # imports leave 1 % of their objects as garbage; `cli.main` enables it
    from agentv_stream.cli import main as run

    run()


if __name__ == "__main__":
    main()
