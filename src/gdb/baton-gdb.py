# SPDX-License-Identifier: MIT
"""baton in gdb, for a live process or a core file:

    (gdb) source PREFIX/share/baton/baton-gdb.py
    (gdb) baton threads           what each thread runs, holds and waits for
    (gdb) baton resources         each resource that is not idle, the longest queue first
    (gdb) baton resources TEXT    each resource with TEXT in its name
    (gdb) baton why THREAD        the chain of waits from a thread (the kernel's id) to its cause

Names, counts and idle resources come from the program's boards (baton_board_create); of a program
without a board, what threads hold and wait for is shown. The library must have its debugging
information (-g, as it is built by default).
"""
import os
import time

import gdb

PHASES = ("held", "queued", "helped", "consumed")
# A walk over a queue ends here.
QUEUE_MAX = 10000


def static(name, of_type):
    """The value of the library's static variable `name`, a pointer to struct `of_type`; or None."""
    for symbol in gdb.lookup_static_symbols(name):
        if str(symbol.type) == "struct %s *" % of_type:
            return symbol.value()
    return None


def records():
    record = static("registry", "baton__thread")
    if record is None:
        raise gdb.GdbError("there is no baton in this program, or no debugging information")
    while int(record):
        yield record.dereference()
        record = record["next"]


def held(record):
    """The resources whose batons the thread holds, the innermost first."""
    found = []
    top = int(record["top"])
    while top and not top & 1:
        frame = gdb.Value(top).cast(gdb.lookup_type("struct baton__frame").pointer())
        if int(frame["resource"]):
            found.append(address(frame["resource"]))
        top = int(frame["below"])
    if top > 1:
        found.append(top & ~3)  # held without a frame, see thread.top in thread.h
    return found


def read(record):
    """The resources of which the thread is a reader."""
    found = []
    reading = record["reading"]
    while int(reading):
        found.append(address(reading["resource"]))
        reading = reading["below"]
    return found


def address(pointer):
    return int(pointer.cast(gdb.lookup_type("unsigned long")))


def printable(name):
    # Names may come from strangers: a terminal must not obey them.
    return "".join(char if char.isprintable() else "?" for char in name)


def text(pointer):
    try:
        return printable(pointer.string(errors="replace")) if int(pointer) else ""
    except gdb.MemoryError:
        return ""


def seconds(ns):
    return "%.1f s" % (ns / 1e9)


class Look:
    """What is read once for each command: boards, threads, and what the time is."""

    def __init__(self):
        self.lines = {}  # the lines of boards, by their resources' addresses
        self.thread_names = {}
        self.now_ns = 0
        board = static("boards", "baton_board")
        while board is not None and int(board):
            try:
                self.read_board(board["file"].dereference())
            except gdb.MemoryError:
                print("a board is not in this core file")
            board = board["others"]
        self.threads = {}
        for thread in gdb.selected_inferior().threads():
            self.threads[thread.ptid[1] or thread.ptid[0]] = thread
        if self.live():
            self.now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.in_use = [record for record in records() if int(record["used"])]

    @staticmethod
    def live():
        """Is this a process of this machine, whose clock is ours?"""
        pid = gdb.selected_inferior().pid
        return bool(pid) and os.path.exists("/proc/%d/task" % pid) and not core_file()

    def read_board(self, file):
        # A core file has no clock: the last look of the watchdog comes nearest to its time.
        self.now_ns = max(self.now_ns, int(file["refreshed_ns"]))
        for i in range(min(int(file["threads"]), 256)):
            thread = file["thread"][i]
            self.thread_names[int(thread["thread"])] = text(thread["name"].address.cast(
                gdb.lookup_type("char").pointer()))
        for i in range(int(file["lines"])):
            line = file["line"][i]
            if int(line["state"]) == 2 and int(line["resource"]):
                self.lines[address(line["resource"])] = line

    def thread(self, tid):
        """"4711 (name)"."""
        thread = self.threads.get(tid)
        # In a core file gdb calls each thread as the program.
        name = (thread and self.live() and thread.name) or self.thread_names.get(tid)
        return "%d (%s)" % (tid, printable(name)) if name else "%d" % tid

    def name(self, resource):
        """Of a resource's address; the memory may be gone."""
        if resource in self.lines:
            name = text(self.lines[resource]["name"].address.cast(
                gdb.lookup_type("char").pointer()))
            if name:
                return '"%s"' % name
        try:
            name = name_by_config(resource, self.live())
        except gdb.MemoryError:
            return "a resource at %#x, whose memory is gone" % resource
        return '"%s"' % name if name else "a resource at %#x" % resource

    def holder_of(self, resource):
        for record in self.in_use:
            if resource in held(record):
                return record
        return None

    def waiting(self, resource):
        """How many tasks wait, or None."""
        if resource in self.lines:
            stats = self.lines[resource]["stats"]
            return max(0, int(stats["submitted"]) + int(stats["_pushed"]) - int(stats["_left"]))
        try:
            return queue_length(resource_at(resource).dereference())
        except gdb.MemoryError:
            return None

    def readers(self, resource):
        """How many readers are at work; of a resource on no board: how many threads read."""
        if resource in self.lines:
            return int(self.lines[resource]["gauge"]["readers"])
        return sum(resource in read(record) for record in self.in_use)

    def failed(self, resource):
        return int(self.lines[resource]["stats"]["failed"]) if resource in self.lines else 0

    def oldest(self, resource):
        """For how long the oldest task has waited, in nanoseconds; 0: not known."""
        if resource not in self.lines or not self.now_ns:
            return 0
        stats = self.lines[resource]["stats"]
        since = int(stats["_passed_ns"]) or int(stats["_marked_ns"])
        return max(0, self.now_ns - since) if since else 0

    def function(self, tid):
        """The innermost function of the program that a task's run is in, or None."""
        thread, before = self.threads.get(tid), gdb.selected_thread()
        if thread is None:
            return None
        try:
            thread.switch()
            return entered(gdb.newest_frame())
        except gdb.error:
            return None
        finally:
            if before is not None:
                before.switch()


def core_file():
    try:
        return "core" in gdb.execute("info proc", to_string=True).splitlines()[0]
    except (gdb.error, IndexError):
        return True


# The folders of the library's sources; those of its companions are below COMPANIONS.
FOLDERS = ("base", "thread", "future", "core", "hooks", "wait", "call", "executor", "queue", "pool",
           "timer", "module", "inspect", "checked")
COMPANIONS = "companion"


def library_root():
    """Where the library's folders were when it was built, as its files are named."""
    for symbol in gdb.lookup_static_symbols("registry"):
        if str(symbol.type) == "struct baton__thread *":
            return os.path.dirname(os.path.dirname(symbol.symtab.filename))
    return ""


def kind_of(frame, root):
    """Whose function the frame is in: "baton", "system" or "program"."""
    table = frame.find_sal().symtab
    path = table.filename if table is not None else ""
    above, folder = os.path.split(os.path.dirname(path))
    if folder in FOLDERS and above == root or above == os.path.join(root, COMPANIONS):
        return "baton"
    shared = os.path.basename(gdb.solib_name(frame.pc()) or "")
    if "sysdeps" in path or shared.startswith(("libc.", "libc-", "libpthread", "ld-")):
        return "system"
    return "program"


def entered(frame):
    """The program's function that the library has called last."""
    root, inner, name = library_root(), None, None
    while frame is not None:
        kind = kind_of(frame, root)
        if kind == "baton" and inner == "program":
            return name
        inner, name = kind, frame.name()
        frame = frame.older()
    return None


def queue_length(resource):
    """The tasks in the inbox and the list; a backlog of lanes is not counted."""
    count = 0
    for task in (int(resource["_word"]) & ~7, address(resource["_list"])):
        pointer = gdb.lookup_type("struct baton_task").pointer()
        resting = gdb.lookup_global_symbol("baton__resting")
        while task and count < QUEUE_MAX:
            if resting is not None and task == address(resting.value().address):
                break
            count += 1
            task = address(gdb.Value(task).cast(pointer)["_next"]) & ~1  # without LOOKED
    return count


def resource_at(number):
    return gdb.Value(number).cast(gdb.lookup_type("struct baton_resource").pointer())


def config_of(resource):
    """A value of the resource's config, or None. As baton__config() in src/core/extras.h."""
    extras = int(resource["_extras"])
    config = resource["_config"]
    if extras & 1:
        config = gdb.Value(extras & ~1).cast(
            gdb.lookup_type("struct baton_resource_stats").pointer())["_config"]
    elif extras & 2:
        config = gdb.Value(extras & ~2).cast(
            gdb.lookup_type("struct baton__extension_head").pointer())["_config"]
    return config.dereference() if int(config) else None


def call_alone(function, argument):
    """Calls a function of the process, whose other threads stay where they are."""
    before = gdb.parameter("scheduler-locking")
    gdb.execute("set scheduler-locking on", to_string=True)
    try:
        return function(argument)
    finally:
        gdb.execute("set scheduler-locking " + before, to_string=True)


def name_by_config(number, live):
    """The name that the config of the resource at this address gives it, or None. A core file calls
    no functions: there only the name that all resources of the config have is known."""
    resource = resource_at(number)
    config = config_of(resource.dereference())
    if config is None:
        return None
    if live and int(config["name_of"]):
        try:
            name = text(call_alone(config["name_of"].dereference(), resource))
            if name:
                return name
        except gdb.error:
            pass  # it cannot be called now: in a system call of another ABI, say
    return text(config["name"])


def waits(record):
    """None, or (the future's address, its resource's or 0, whether it is a promise, since when,
    the promise's maker or 0)."""
    wait = record["wait"]
    if not int(wait["since_ns"]):
        return None
    return (address(wait["future"]), address(wait["resource"]), bool(wait["promise"]),
            int(wait["since_ns"]), int(wait["maker"]))


def describe_wait(look, record):
    wait = waits(record)
    if not wait:
        return "waits for nothing of baton's"
    future, resource, promise, since_ns, maker = wait
    since = " since " + seconds(look.now_ns - since_ns) if look.now_ns > since_ns else ""
    if promise:
        made = "; thread %s has made it" % look.thread(maker) if maker else ""
        if maker == int(record["tid"]):
            made = "; it has made the promise itself"
        return "waits%s for a promise at %#x, which nobody has completed%s" % (since, future, made)
    if resource:
        return "waits%s for a task of %s" % (since, look.name(resource))
    return ("waits%s for a future at %#x, whose task is not submitted, or for several" %
            (since, future))


# As enum baton__who_why (src/core/gauge.h).
SUSPENDED, DETACHED, READERS = range(3)


class Who:
    """The thread that has suspended a resource, or has detached the task that holds it."""

    def __init__(self, tid, why, function=0, resource=0):
        self.tid, self.why = tid, why
        self.function, self.resource = function, resource

    @classmethod
    def shown(cls, who):
        """As a board shows it (struct baton__who), or None."""
        if not int(who["thread"]):
            return None
        return cls(int(who["thread"]), int(who["why"]), int(who["function"]),
                   address(who["resource"]))

    def text(self, look, deed):
        said = "; thread %s %s" % (look.thread(self.tid), deed)
        if self.function:
            said += ", in %s" % symbol_at(self.function)
        if self.resource and self.why == SUSPENDED:
            said += ", in a task of %s" % look.name(self.resource)
        return said


def symbol_at(function):
    words = gdb.execute("info symbol %#x" % function, to_string=True).split()
    return "a function at %#x" % function if words[0] == "No" else words[0]


def shelver(look, resource):
    """Who has shelved the resource; None: nobody, or it is not known."""
    value = resource_at(resource).dereference()
    turn = int(value["_job"]["_turn"])
    if turn >> 30 != 3:
        return None
    who = Who.shown(look.lines[resource]["gauge"]["shelved"]) if resource in look.lines else None
    # As in src/module/who.c: the job is in no queue, unless a helper has borrowed it.
    told = address(value["_job"]["_next"]) if PHASES[turn & 3] == "held" else 0
    return who or (Who(told >> 3, told >> 1 & 3) if told & 1 else None)


def shelved(look, who):
    if who is None:
        return "suspended, or held by a detached task: nobody has resumed or completed it"
    if who.why == READERS:
        return "held by readers, which are at work" + who.text(look, "was the first of them")
    if who.why == DETACHED:
        return ("held by a detached task, which nobody has completed" +
                who.text(look, "has detached it"))
    return "suspended, and nobody has resumed it" + who.text(look, "has suspended it")


def paused(look, resource):
    who = Who.shown(look.lines[resource]["gauge"]["paused"]) if resource in look.lines else None
    return ("held up: its lower lanes are suspended, and nobody has resumed them" +
            (who.text(look, "has suspended them") if who else ""))


def state_of(look, resource):
    """How the resource is, and whether that is more than idle."""
    try:
        value = resource_at(resource).dereference()
        turn = int(value["_job"]["_turn"])
        word = int(value["_word"])
    except gdb.MemoryError:
        return "its memory is gone", True
    if turn >> 30 == 3:
        return shelved(look, shelver(look, resource)), True
    if PHASES[turn & 3] == "queued":
        return "in its executor's queue: a loop or worker must come to it", True
    holder = look.holder_of(resource)
    if holder is not None:
        tid = int(holder["tid"])
        function = look.function(tid)
        return "held by thread %s%s" % (look.thread(tid),
                                        ", in " + function if function else ""), True
    resting = gdb.lookup_global_symbol("baton__resting")
    if resting is not None and word & ~7 == address(resting.value().address):
        return paused(look, resource), True
    if word & 1:
        return "busy: a thread has just captured it", True
    return "idle" + (", closed" if word & 6 == 6 else ""), False


def describe(look, resource):
    state, active = state_of(look, resource)
    waiting, failed, oldest = look.waiting(resource), look.failed(resource), look.oldest(resource)
    if waiting and state.startswith("idle"):
        state = "its window is full: nobody has completed the tasks in flight"
    readers = look.readers(resource)
    if readers:
        state += "; %d reader%s at work" % (readers, "s are" if readers > 1 else " is")
    if waiting:
        state += "; %d task%s" % (waiting, "s wait" if waiting > 1 else " waits")
        if oldest:
            state += ", the oldest since " + seconds(oldest)
    if failed:
        state += "; %d task%s failed" % (failed, "s have" if failed > 1 else " has")
    return "%s: %s" % (look.name(resource), state), active or bool(waiting), waiting or 0


class Baton(gdb.Command):
    """Commands about baton: threads, resources, why THREAD."""

    def __init__(self):
        super().__init__("baton", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class Command(gdb.Command):
    """Runs show() in C: a thread that sleeps in libc may stand in assembly, where gdb finds no
    struct by its name."""

    def invoke(self, argument, from_tty):
        before = gdb.parameter("language")
        gdb.execute("set language c", to_string=True)
        try:
            self.show(argument)
        finally:
            gdb.execute("set language " + before, to_string=True)


class Threads(Command):
    """Prints what each thread runs, holds and waits for."""

    def __init__(self):
        super().__init__("baton threads", gdb.COMMAND_STATUS)

    def show(self, argument):
        look, others = Look(), []
        for record in look.in_use:
            tid, resources = int(record["tid"]), held(record)
            if not resources and not waits(record):
                others.append(look.thread(tid))
                continue
            function = look.function(tid) if resources else None
            names = ", ".join(look.name(resource) for resource in resources) or "nothing"
            print("thread %s holds %s%s; %s" % (look.thread(tid), names,
                                               ", in " + function if function else "",
                                               describe_wait(look, record)))
        if others:
            print("hold nothing, and wait for nothing: %s" % ", ".join(others))


class Resources(Command):
    """Prints each resource that is not idle; with TEXT: each with TEXT in its name."""

    def __init__(self):
        super().__init__("baton resources", gdb.COMMAND_STATUS)

    def show(self, argument):
        look, found, wanted = Look(), [], argument.strip()
        for record in look.in_use:
            found += held(record)
            wait = waits(record)
            if wait and wait[1]:
                found.append(wait[1])
        shown, failed = [], []
        for resource in dict.fromkeys(found + list(look.lines)):
            if wanted and wanted not in look.name(resource):
                continue
            line, active, waiting = describe(look, resource)
            if active or wanted:
                shown.append((waiting, line))
            else:
                failed.append((look.failed(resource), line))
        for _, line in sorted(shown, key=lambda row: -row[0]):
            print(line)
        if not wanted:
            self.others(failed)

    @staticmethod
    def others(idle):
        """Of idle resources, those whose tasks have failed, and the count of all."""
        worst = sorted((row for row in idle if row[0]), key=lambda row: -row[0])[:5]
        for _, line in worst:
            print(line)
        print("%d %s idle (baton resources TEXT shows those with TEXT in their names)" %
              (len(idle) - len(worst), "more are" if worst else "are"))


class Why(Command):
    """Follows the waits from a thread, given by the kernel's id, to their cause."""

    def __init__(self):
        super().__init__("baton why", gdb.COMMAND_STATUS)

    def show(self, argument):
        if not argument.strip().isdigit():
            raise gdb.GdbError("baton why THREAD: the kernel's id, as info threads shows it (LWP)")
        look, wanted, seen = Look(), int(argument), []
        while True:
            record = next((one for one in look.in_use if int(one["tid"]) == wanted), None)
            if record is None:
                print("thread %s has called nothing of baton's" % look.thread(wanted))
                return
            wait, function = waits(record), look.function(wanted) if held(record) else None
            inside = ", in %s of %s," % (function, look.name(held(record)[0])) if function else ""
            print("thread %s%s %s" % (look.thread(wanted), inside, describe_wait(look, record)))
            if wanted in seen:
                print("this is a cycle")
                return
            seen.append(wanted)
            if not wait or wait[2] or not wait[1]:
                return
            print("  " + describe(look, wait[1])[0])
            wanted = self.blamed(look, wait[1])
            if wanted is None:
                return

    @staticmethod
    def blamed(look, resource):
        """The thread that holds the resource, or else has suspended it and still is there."""
        holder = look.holder_of(resource)
        if holder is not None:
            return int(holder["tid"])
        try:
            who = shelver(look, resource)
        except gdb.MemoryError:
            return None
        tids = [int(record["tid"]) for record in look.in_use]
        return who.tid if who is not None and who.tid in tids else None


Baton()
Threads()
Resources()
Why()
