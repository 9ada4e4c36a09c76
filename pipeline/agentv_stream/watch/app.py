"""The live view in the terminal: a table of sessions, and the events of one. Works in 60 columns over ssh.

No key changes anything but the view.
"""

import time
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key, Resize
from textual.screen import ModalScreen, Screen
from textual.widgets import DataTable, Footer, Input, RichLog, Static

from agentv_stages.model.visible import visible
from agentv_stream.watch.feed import MOST_SHOWN, Feed
from agentv_stream.watch.model import Look
from agentv_stream.watch.table import BAR, RIGHT, SORTS, arranged, details, holds, row, summary, widths

REFRESH_SECONDS = 0.5
LINE_WIDTH = 400
TABLE_ACTIONS = ("filter", "sort", "top", "help")
MOVES = ("up", "down", "pageup", "pagedown", "end", "j", "k")
KEYS = """\
up, down, j, k  choose a session
Enter           open it, follow it; Escape goes back
/               only rows with these words; Escape: all
s               sort: state, last event, errors,
                tokens, cost
Home, g         back to the top, sorted again
?               these keys
q, Ctrl-C       quit

● running  ✓ complete  ✗ failed or cut off
? end not known
! stuck; the row says which call, and how long

While a row is chosen, rows keep their places.
No key changes a session, a log or an agent."""


class Help(ModalScreen[None]):
    """The keys, until any key is pressed."""

    def compose(self) -> ComposeResult:
        yield Static(KEYS, id="keys", markup=False)

    def on_key(self, event: Key) -> None:
        event.stop()
        self.dismiss()


class Events(Screen[None]):
    """The events of one session, as they arrive; at the end of the list it follows them."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "app.pop_screen", "back")]

    def __init__(self, feed: Feed, number: int) -> None:
        super().__init__()
        self.feed = feed
        self.number = number
        self._shown: tuple[object, int] | None = None  # which reading of the log, and how many of its lines are shown

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield RichLog(id="events", wrap=False, markup=False, highlight=False, auto_scroll=False)
        yield Footer()

    def on_mount(self) -> None:
        self.set_interval(REFRESH_SECONDS, self.refresh_events)
        self.refresh_events()

    def refresh_events(self) -> None:
        """Adds new events."""
        found = self.feed.events(self.number, time.time_ns() // 1_000_000)
        if found is None:
            return
        look, count, lines = found
        self.query_one("#title", Static).update(details(look, self.size.width - 2))
        log = self.query_one("#events", RichLog)
        at_end = log.is_vertical_scroll_end
        shown = self._shown[1] if self._shown is not None and self._shown[0] == look.reading else 0
        if not shown or count - shown > len(lines):
            log.clear()
            shown = count - len(lines)
        self._shown = (look.reading, count)
        for line in lines[len(lines) - (count - shown) :] if count > shown else ():
            log.write(Text(visible(line, LINE_WIDTH)), scroll_end=at_end)


class Sessions(DataTable[Text]):
    """The table; a hint about Enter is shown below it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "events"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]


class WatchApp(App[None]):
    """All running sessions."""

    CSS = """
    DataTable { height: 1fr; }
    #details { height: 4; padding: 0 1; border-top: solid $primary; }
    #title { height: 3; padding: 0 1; }
    #status { height: 1; color: $text-muted; padding: 0 1; }
    #filter { height: 1; border: none; padding: 0 1; display: none; }
    Help { align: center middle; }
    #keys { width: auto; max-width: 100%; height: auto; padding: 0 1; border: solid $primary; background: $surface; }
    """
    TITLE = "agentv-stream watch"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter"),
        Binding("s", "sort", "sort"),
        Binding("question_mark", "help", "keys"),
        Binding("q", "quit", "quit"),
        Binding("home,g", "top", show=False, priority=True),
        Binding("escape", "show_all", show=False),
        Binding("ctrl+c", "quit", show=False, priority=True),  # Textual's default only points to another key
    ]

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.feed = feed
        self.table = Sessions(cursor_type="row", zebra_stripes=True)
        self.details = Static(id="details", markup=False)
        self.field = Input(id="filter", placeholder="words of a row")
        self.status = Static(id="status", markup=False)
        self._looks: list[Look] = []
        self._closing = False
        self._room: dict[str, int] = {}
        self._chosen = False  # a person has moved the cursor, so rows keep their places
        self._sort = next(iter(SORTS))
        self._filter = ""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.table
            yield self.details
            yield self.field
            yield self.status
        yield Footer()

    def on_mount(self) -> None:
        self.set_interval(REFRESH_SECONDS, self.refresh_rows)
        self.table.focus()
        self.follow()

    @work(thread=True, exclusive=True)
    def follow(self) -> None:
        """Follows the files, in a thread, until the application ends."""
        while not self._closing:
            if not self.feed.round() and not self.feed.follower.backlog:
                self.feed.caught_up = True
                if not self.feed.read_texts():
                    time.sleep(0.2)

    def on_resize(self, event: Resize) -> None:
        """Adjusts the columns' widths; the rows follow."""
        room = widths(event.size.width - BAR)
        if room != self._room:
            self._room = room
            self.table.clear(columns=True)
            self._looks = []
            for label, width in room.items():
                title = Text(label, justify="right" if label in RIGHT else "left")
                self.table.add_column(title, width=width, key=label)
            self.refresh_rows()

    def on_unmount(self) -> None:
        self._closing = True

    def refresh_rows(self) -> None:
        """Redraws the table; the cursor stays on its session if a person chose it, otherwise at the top."""
        every = self.feed.looks(time.time_ns() // 1_000_000, None if self._filter else MOST_SHOWN)
        found = [look for look in every if holds(look, self._filter)][:MOST_SHOWN]
        before = [look.key for look in self._looks]
        self._show(arranged(found, self._sort, before, self._chosen))
        notes = [] if self.feed.caught_up else ["reading…"]
        notes.append(summary(self._looks, self.feed.session_count, bool(self._filter)))
        notes += [f"sorted by {self._sort}"] if self._sort != next(iter(SORTS)) else []
        notes += [self.feed.troubles] if self.feed.troubles else []
        self.status.update(Text(visible("  ".join(notes), 200)))

    def _show(self, looks: list[Look]) -> None:
        table, selected, scrolled = self.table, self._selected(), self.table.scroll_y
        before = [look.key for look in self._looks]
        self._looks = looks
        if before == [look.key for look in looks]:
            for look in looks:
                for name, cell in zip(self._room, row(look, self._room), strict=True):
                    if table.get_cell(str(look.key), name) != cell:
                        table.update_cell(str(look.key), name, cell)
        else:
            table.clear()
            for look in looks:
                table.add_row(*row(look, self._room), key=str(look.key))
            at = next((n for n, look in enumerate(looks) if look.key == selected), 0) if self._chosen else 0
            table.move_cursor(row=at, scroll=False)
            table.scroll_to(y=scrolled if self._chosen else 0, animate=False, force=True)
        self._show_details()

    def _show_details(self) -> None:
        look = next((look for look in self._looks if look.key == self._selected()), None)
        text = details(look, self.size.width - 2) if look is not None else Text("")
        self.details.update(text)

    def on_data_table_row_highlighted(self) -> None:
        self._show_details()

    def on_data_table_row_selected(self) -> None:
        """Shows the events of the session under the cursor."""
        number = self._selected()
        if number is not None:
            self._chosen = True
            self.feed.wake(number)
            self.push_screen(Events(self.feed, number))

    def on_key(self, event: Key) -> None:
        self._chosen = self._chosen or event.key in MOVES

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the table do nothing elsewhere, and letters are letters in the line for words."""
        return action not in TABLE_ACTIONS or (len(self.screen_stack) == 1 and self.focused is not self.field)

    def action_top(self) -> None:
        """Sorts again and goes to the first row."""
        self._chosen = False
        self.table.move_cursor(row=0)
        self.refresh_rows()

    def action_sort(self) -> None:
        """Sorts by the next key; the cursor stays on its session."""
        names = list(SORTS)
        self._sort = names[(names.index(self._sort) + 1) % len(names)]
        chosen, self._chosen = self._chosen, False
        key = self._selected()
        self.refresh_rows()
        self._chosen = chosen
        if chosen:
            self.table.move_cursor(row=next((n for n, look in enumerate(self._looks) if look.key == key), 0))

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_filter(self) -> None:
        """Opens the line for words to look for."""
        self.field.display = True
        self.field.focus()

    def action_show_all(self) -> None:
        """Closes the filter."""
        self.field.value = ""
        self.field.display = False
        self.table.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._filter = event.value
        self.refresh_rows()

    def on_input_submitted(self) -> None:
        self.field.display = bool(self.field.value)
        self.table.focus()

    def _selected(self) -> int | None:
        at = self.table.cursor_row
        return self._looks[at].key if 0 <= at < len(self._looks) else None
