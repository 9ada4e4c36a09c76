"""The entry point of `agentv-stream`, and of `python -m agentv_stream` where no script was installed.

It imports next to nothing: from here on Ctrl-C is one that a command expects.
"""

from agentv_stream.ctrl_c import die_of_it


def main() -> None:
    """Loads the command line, which takes the longest of a start, and runs it."""
    die_of_it()
    from agentv_stream.cli import main as run

    run()


if __name__ == "__main__":
    main()
