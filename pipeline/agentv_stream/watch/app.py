"""The live view in the terminal: a table of sessions, and the events of one. Works in 80 columns over ssh."""

import time
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import DataTable, Footer, RichLog, Static

from agentv_stages.model.visible import counted, visible
from agentv_stream.units import age_text, count_text
from agentv_stream.watch.feed import Feed
from agentv_stream.watch.model import Look

REFRESH_SECONDS = 0.5
NARROW = 76  # terminal width for which COLUMNS is defined
COLUMNS = (("", 1), ("agent", 8), ("project", 12), ("turn", 4), ("calls", 5), ("err", 3), ("last tool", 21), ("age", 4))
MOST_PROJECT, LEAST_PROJECT, LEAST_TOOL = 30, 8, 8


def widths(terminal: int) -> dict[str, int]:
    """The columns' widths: extra room in a wide terminal goes to the project and mostly to the last tool; in a narrow
    one the last tool shrinks first, then the project, so that the age is visible even in 60 columns."""
    made = dict(COLUMNS)
    spare = terminal - NARROW
    project = max(0, min(MOST_PROJECT - made["project"], spare // 3))
    made["project"] += project
    tool = made["last tool"] + spare - project
    made["last tool"] = max(LEAST_TOOL, tool)
    made["project"] = max(LEAST_PROJECT, made["project"] + min(0, tool - LEAST_TOOL))
    return made


def sign(look: Look) -> Text:
    """A one-character symbol for the state."""
    if look.stalled:
        return Text("!", style="bold yellow")
    if look.status == "running":
        return Text("●", style="green" if look.live else "dim")
    if look.status in ("complete", "unknown"):
        return Text("✓" if look.status == "complete" else "?", style="dim")
    return Text("✗", style="red")


def row(look: Look, room: dict[str, int]) -> list[Text]:
    """The cells of a session, for columns of the widths `room`."""
    tool = f"{'▸' if look.open_calls else ' '}{look.last_tool}"
    return [
        sign(look),
        Text(visible(look.agent, 8)),
        Text(visible(look.project, room["project"])),
        Text(str(look.turn), justify="right"),
        Text(count_text(look.calls), justify="right"),
        Text(str(look.errors), justify="right", style="red" if look.errors else "dim"),
        Text(visible(tool, room["last tool"])),
        Text(age_text(look.last_age) if look.last_age is not None else "", justify="right"),
    ]


def details(look: Look, width: int) -> Text:
    """The lines below the table, about the session under the cursor: three of at most `width` columns."""
    cost = f"${look.cost:.4f}" if look.cost is not None else "?"
    context = f"{look.context:.0%}" if look.context is not None else "?"
    edit = f"turn {look.first_edit}" if look.first_edit is not None else "none"
    least = "" if look.tokens_out_whole or look.tokens_out is None else "≥"
    tokens = f"tokens in {count_text(look.tokens_in)} out {least}{count_text(look.tokens_out)}"
    figures = f"{tokens}  cost {cost}  context {context}  first edit {edit}  open calls {look.open_calls}"
    text = Text(
        visible(f"{look.status}  {look.session}  {look.model or '?'}", width) + "\n" + visible(figures, width) + "\n"
    )
    text.append(visible(look.stalled or look.last_tool, width), style="bold yellow" if look.stalled else "")
    return text


class Events(Screen[None]):
    """The events of one session, as they arrive."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "app.pop_screen", "back")]

    def __init__(self, feed: Feed, number: int) -> None:
        super().__init__()
        self.feed = feed
        self.number = number
        self._version = -1

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield RichLog(id="events", wrap=False, markup=False, highlight=False, auto_scroll=True)
        yield Footer()

    def on_mount(self) -> None:
        self.set_interval(REFRESH_SECONDS, self.refresh_events)
        self.refresh_events()

    def refresh_events(self) -> None:
        """Shows new events."""
        found = self.feed.events(self.number, time.time_ns() // 1_000_000)
        if found is None:
            return
        look, version, lines = found
        self.query_one("#title", Static).update(details(look, self.size.width - 2))
        if version == self._version:
            return
        self._version = version
        log = self.query_one("#events", RichLog)
        log.clear()
        for line in lines:
            log.write(Text(visible(line, 400)))


class Sessions(DataTable[Text]):
    """The table; a hint about Enter is shown below it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "events")]


class WatchApp(App[None]):
    """All running sessions."""

    CSS = """
    DataTable { height: 1fr; }
    #details { height: 4; padding: 0 1; border-top: solid $primary; }
    #title { height: 3; padding: 0 1; }
    #status { height: 1; color: $text-muted; padding: 0 1; }
    """
    TITLE = "agentv-stream watch"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),  # Textual's default only points to another key
    ]

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.feed = feed
        self.table = Sessions(cursor_type="row", zebra_stripes=True)
        self._looks: list[Look] = []
        self._closing = False
        self._room: dict[str, int] = {}

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.table
            yield Static(id="details", markup=False)
            yield Static(id="status", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.set_interval(REFRESH_SECONDS, self.refresh_rows)
        self.follow()

    @work(thread=True, exclusive=True)
    def follow(self) -> None:
        """Follows the files, in a thread, until the application ends."""
        while not self._closing:
            if not self.feed.round() and not self.feed.follower.backlog:
                time.sleep(0.2)

    def on_resize(self, event: Resize) -> None:
        """Adjusts the columns' widths; the rows follow."""
        room = widths(event.size.width)
        if room != self._room:
            self._room = room
            self.table.clear(columns=True)
            for label, width in room.items():
                self.table.add_column(label, width=width)
            self.refresh_rows()

    def on_unmount(self) -> None:
        self._closing = True

    def refresh_rows(self) -> None:
        """Redraws the table; the cursor stays on its session."""
        table = self.table
        selected = self._selected()
        self._looks = self.feed.looks(time.time_ns() // 1_000_000)
        table.clear()
        for look in self._looks:
            table.add_row(*row(look, self._room), key=str(look.key))
        at = next((n for n, look in enumerate(self._looks) if selected is not None and look.key == selected), 0)
        if self._looks:
            table.move_cursor(row=at)
            self.query_one("#details", Static).update(details(self._looks[at], self.size.width - 2))
        live = sum(look.live for look in self._looks)
        stalled = sum(bool(look.stalled) for look in self._looks)
        shown, every = len(self._looks), self.feed.session_count
        part = f"the latest {shown} of " if shown < every else ""
        told = f"{part}{counted(every, 'session')}, {live} running, {stalled} stalled  {self.feed.troubles}"
        self.query_one("#status", Static).update(Text(visible(told, 200)))

    def on_data_table_row_highlighted(self) -> None:
        look = next((look for look in self._looks if look.key == self._selected()), None)
        if look is not None:
            self.query_one("#details", Static).update(details(look, self.size.width - 2))

    def on_data_table_row_selected(self) -> None:
        """Shows the events of the session under the cursor."""
        number = self._selected()
        if number is not None:
            self.push_screen(Events(self.feed, number))

    def _selected(self) -> int | None:
        at = self.table.cursor_row
        return self._looks[at].key if 0 <= at < len(self._looks) else None
