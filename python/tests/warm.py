# SPDX-License-Identifier: Apache-2.0
"""An interpreter that has imported torch, and starts programs in forks of itself: importing torch takes most of a short program's time.

python() returns the path of an executable that takes the arguments of python3: SCRIPT, -m MODULE or -c CODE, and the program's own. The
program runs in a separate process, which begins without threads and without sluice, in the caller's folder and environment, with the
caller's files 0 to 2. The executable ends with the program's status or signal; if the executable is killed, the program is, too. It differs
from python3 in that the program's process is not the caller's child, -X is ignored, variables that libraries read while they are imported
(OMP_NUM_THREADS) have no effect, and the program ends without deleting its modules, after atexit: torch's take 0.4 s of CPU.

The server ends with the process that called start() or python()."""
import array
import atexit
import gc
import importlib
import importlib.util
import marshal
import os
import runpy
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import traceback
import types

IMPORTED = ("torch", "torch.distributed.launcher.api", "numpy", "PIL.Image")
WHERE = "SLUICE_WARM_PYTHON"
LIMIT = 1 << 20  # bytes of a request: arguments and environment
# Without site and the environment, whose loading would take longer than everything else; marshal needs the same Python version.
CLIENT = """#!{python} -SI
import _socket, marshal, posix, sys
link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
link.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, {limit})
link.connect({address!r})
files = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
link.sendmsg([marshal.dumps((sys.argv, posix.getcwdb(), posix.environ))], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
code = int(link.recv(16) or b"70")
if code < 0:
    import signal
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
    posix.kill(posix.getpid(), -code)
posix._exit(code)
"""


class Server:
    """Accepts requests until its standard input ends. Kills a program when its requester is gone."""

    def __init__(self, listener):
        self.listener, self.poll = listener, select.poll()
        self.asked, self.running = {}, {}  # (connection, process, pidfd) by the descriptors of the connection and of the process
        for file in (0, listener.fileno()):
            self.poll.register(file, select.POLLIN)

    def serve(self):
        """Returns the request in each program's process, and None in the server when it has to end."""
        while True:
            for file, _ in self.poll.poll():
                if file == 0:
                    for _, process, _ in self.running.values():
                        os.kill(process, signal.SIGKILL)
                    return None
                if file == self.listener.fileno():
                    request = self.accept()
                    if request is not None:
                        return request
                elif file in self.running:
                    self.end(file)
                elif file in self.asked:
                    os.kill(self.asked[file][1], signal.SIGKILL)
                    self.poll.unregister(file)

    def accept(self):
        connection, _ = self.listener.accept()
        message, ancillary, _, _ = connection.recvmsg(LIMIT, socket.CMSG_SPACE(3 * 4))
        if not ancillary:
            connection.close()
            return None
        files = array.array("i", ancillary[0][2])
        process = os.fork()
        if process == 0:
            for to, file in enumerate(files):
                os.dup2(file, to)
            others = [link for link, _, _ in self.asked.values()]
            for each in (*files, *self.running, self.listener.detach(), connection.detach(), *(link.detach() for link in others)):
                os.close(each)
            return marshal.loads(message)
        for file in files:
            os.close(file)
        entry = connection, process, os.pidfd_open(process)
        self.asked[connection.fileno()] = self.running[entry[2]] = entry
        for file in (connection.fileno(), entry[2]):
            self.poll.register(file, select.POLLIN)
        return None

    def end(self, pidfd):
        connection, process, _ = self.running.pop(pidfd)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        self.poll.unregister(pidfd)
        os.close(pidfd)
        del self.asked[connection.fileno()]
        try:
            self.poll.unregister(connection)
            connection.send(b"%d" % code)
        except (OSError, KeyError):
            pass  # the requester is gone
        connection.close()


def become(arguments, folder, environment):
    """Runs the requested program as __main__ of this process."""
    sys.executable, *words = arguments
    os.environb.clear()
    os.environb.update(environment)
    os.chdir(folder)
    for path in reversed(os.environ.get("PYTHONPATH", "").split(":")):
        if path and path not in sys.path:
            sys.path.insert(0, path)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # as random does after a fork
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    while words and words[0] in ("-u", "-X", "-Xfaulthandler"):
        unbuffered |= words[0] == "-u"
        words = words[2 if words[0] == "-X" else 1 :]
    sys.stdout.reconfigure(write_through=unbuffered, line_buffering=os.isatty(1))
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        elif words[0] == "-c":
            sys.argv = ["-c", *words[2:]]
            sys.path.insert(0, "")
            exec(compile(words[1], "<string>", "exec"), module.__dict__)
        else:
            sys.argv = words
            sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
            module.__file__ = words[0]
            with open(words[0], "rb") as file:
                code = compile(file.read(), words[0], "exec")
            exec(code, module.__dict__)
    except Exception:
        kind, error, trace = sys.exc_info()
        traceback.print_exception(kind, error, trace.tb_next)
        sys.exit(1)


def run(request):
    """Returns the exit code of the request's program, after its threads and exit handlers have ended."""
    code = 0
    try:
        become(*request)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if not isinstance(end.code, (int, type(None))):
            print(end.code, file=sys.stderr)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code & 255


def no_torchrun():
    """Returns why processes of torchrun cannot reach each other, or None: they connect by the machine's name, as some containers cannot."""
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except OSError as error:
        return f"this machine's name, {socket.gethostname()}, has no address: {error}"
    return None


def import_all():
    """Imports those modules that are installed. None of them starts a thread."""
    for name in IMPORTED:
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    gc.freeze()  # no collection in a fork scans them


def listen():
    """Makes the executable. Returns its path and the socket that it connects to."""
    folder = tempfile.mkdtemp(prefix="sluice-warm-")
    path, address = os.path.join(folder, "python3"), os.path.join(folder, "socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(128)
    with open(path, "w", encoding="utf-8") as file:
        file.write(CLIENT.format(python=sys.executable, address=address, limit=LIMIT))
    os.chmod(path, stat.S_IRWXU)
    return path, listener


def serve(path, listener):
    """Serves the executable until standard input ends. Does not return."""
    request = Server(listener).serve()
    if request is not None:
        os._exit(run(request))
    shutil.rmtree(os.path.dirname(path))
    os._exit(0)


def start():
    """Forks a server from this process, which has no threads yet, and has imported the programs' common modules. It ends with this process."""
    path, listener = listen()
    ends, alive = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork() == 0:
        os.dup2(ends, 0)
        os.close(ends)
        os.close(alive)
        serve(path, listener)
    listener.close()
    os.close(ends)
    os.environ[WHERE] = path


def python():
    """Returns the path of the executable. Starts a server if none runs: in a separate process, since this one may have threads."""
    if WHERE not in os.environ:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        server = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        atexit.register(server.communicate)  # closes its input, and waits
        os.environ[WHERE] = server.stdout.readline().strip()
    return os.environ[WHERE]


if __name__ == "__main__":
    import_all()
    executable, link = listen()
    print(executable, flush=True)
    serve(executable, link)
