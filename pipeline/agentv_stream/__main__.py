"""`python -m agentv_stream`: the command line, where no script was installed."""

from agentv_stream.cli import main

if __name__ == "__main__":
    main()
