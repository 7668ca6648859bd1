# SPDX-License-Identifier: MIT
"""baton in gdb, for a live process or a core file:

    (gdb) source /usr/local/share/baton/baton-gdb.py
    (gdb) baton threads        what each thread holds and waits for
    (gdb) baton resources      each resource that a thread holds, or that is on a board
    (gdb) baton why THREAD     the chain of waits from a thread (the kernel's id) to its cause

The library must have its debugging information (-g, as it is built by default).
"""
import gdb

PHASES = ("held", "queued", "helped", "consumed")


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


def frames(record):
    frame = record["top"]
    while int(frame):
        yield frame.dereference()
        frame = frame["below"]


def address(pointer):
    return int(pointer.cast(gdb.lookup_type("unsigned long")))


def text(pointer):
    try:
        name = pointer.string(errors="replace") if int(pointer) else ""
    except gdb.MemoryError:
        return ""
    # Names may come from strangers: a terminal must not obey them.
    return "".join(char if char.isprintable() else "?" for char in name)


def resource_at(number):
    return gdb.Value(number).cast(gdb.lookup_type("struct baton_resource").pointer())


def name_of(resource):
    """Of a resource's address; the memory may be gone."""
    try:
        name = text(resource_at(resource)["_name"])
    except gdb.MemoryError:
        return "a resource at %#x, whose memory is gone" % resource
    return '"%s"' % name if name else "a resource at %#x" % resource


def held(record):
    return [address(frame["resource"]) for frame in frames(record) if int(frame["resource"])]


def waits(record):
    """None, or (the future's address, its resource's or 0, whether it is a promise)."""
    wait = record["wait"]
    if not int(wait["since_ns"]):
        return None
    return address(wait["future"]), address(wait["resource"]), bool(wait["promise"])


def in_use():
    return [record for record in records() if int(record["used"])]


def holder_of(resource):
    for record in in_use():
        if resource in held(record):
            return record
    return None


def describe_wait(record):
    wait = waits(record)
    if not wait:
        return "waits for nothing of baton's"
    future, resource, promise = wait
    if promise:
        return "waits for a promise at %#x, which nobody has completed" % future
    if resource:
        return "waits for a task of %s" % name_of(resource)
    return "waits for a future at %#x, whose task is not submitted, or for several" % future


def state_of(resource):
    try:
        value = resource_at(resource).dereference()
        turn = int(value["_job"]["_turn"])
        word = int(value["_word"])
    except gdb.MemoryError:
        return "its memory is gone"
    if turn >> 30 == 3:
        return "suspended, or its task is detached: nobody runs it until it is resumed"
    if PHASES[turn & 3] == "queued":
        return "in its executor's queue: a loop or worker must come to it"
    if holder_of(resource) is not None:
        return "held by thread %d" % int(holder_of(resource)["tid"])
    return "idle or held for a moment (word %#x)" % word


class Baton(gdb.Command):
    """Commands about baton: threads, resources, why THREAD."""

    def __init__(self):
        super().__init__("baton", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class Threads(gdb.Command):
    """Prints what each thread holds and waits for."""

    def __init__(self):
        super().__init__("baton threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for record in in_use():
            names = ", ".join(name_of(resource) for resource in held(record)) or "nothing"
            print("thread %d holds %s; %s" % (int(record["tid"]), names, describe_wait(record)))


class Resources(gdb.Command):
    """Prints each resource that a thread holds or waits for, and those on boards."""

    def __init__(self):
        super().__init__("baton resources", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        found = []
        for record in in_use():
            found += held(record)
            wait = waits(record)
            if wait and wait[1]:
                found.append(wait[1])
        for resource in dict.fromkeys(found + self.on_boards()):
            print("%s: %s" % (name_of(resource), state_of(resource)))

    @staticmethod
    def on_boards():
        board, found = static("boards", "baton_board"), []
        while board is not None and int(board):
            try:
                lines = board["file"]["line"]
                for i in range(int(board["file"]["lines"])):
                    line = lines[i]
                    if int(line["state"]) == 2:
                        found.append(address(line["resource"]))
            except gdb.MemoryError:
                print("a board is not in this core file")
            board = board["others"]
        return found


class Why(gdb.Command):
    """Follows the waits from a thread, given by the kernel's id, to their cause."""

    def __init__(self):
        super().__init__("baton why", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        if not argument.strip().isdigit():
            raise gdb.GdbError("baton why THREAD: the kernel's id, as info threads shows it (LWP)")
        wanted, seen = int(argument), []
        while True:
            record = next((one for one in in_use() if int(one["tid"]) == wanted), None)
            if record is None:
                print("thread %d has called nothing of baton's" % wanted)
                return
            print("thread %d %s" % (wanted, describe_wait(record)))
            if wanted in seen:
                print("this is a cycle")
                return
            seen.append(wanted)
            wait = waits(record)
            if not wait or wait[2] or not wait[1]:
                return
            print("  %s: %s" % (name_of(wait[1]), state_of(wait[1])))
            record = holder_of(wait[1])
            if record is None:
                return
            wanted = int(record["tid"])


Baton()
Threads()
Resources()
Why()
