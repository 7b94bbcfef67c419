/** A container as `deploy/compose.up.yaml` describes it, run by runc. */
import { join } from "node:path";
import { pause } from "../../lib/base/delay.ts";
import { output, run } from "./commands.ts";

/** How long it may take to start, on a busy machine. */
const START_MS = 180_000;

/** As in `deploy/compose.up.yaml`. */
const MEMORY_BYTES = 2 * 1024 ** 3;

interface ContainerOptions {
  /** Path of the image's files. */
  root: string;
  /** Folder for the bundle of runc; one for each container. */
  folder: string;
  /** The volume, mounted on `/data`. */
  volume: string;
  userId: number;
  /** Program and arguments. */
  args: string[];
  /** As `NAME=value`. */
  environment: string[];
}

/** What the kernel says about the first process. */
interface ProcessFacts {
  userIds: string;
  capabilities: string;
  mayGainPrivileges: boolean;
  isRootReadOnly: boolean;
  /** Now, and at most since the start. */
  memoryMb: { now: number; peak: number };
}

/** Starts a container, whose output goes to a file. */
export async function startContainer(options: ContainerOptions) {
  const { folder } = options;
  const name = `test-analytics-${crypto.randomUUID()}`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(join(folder, "config.json"), JSON.stringify(configOf(options)));
  // Its own state: no other container of this machine is touched.
  const runc = ["runc", "--root", join(folder, "state")];
  using log = await Deno.open(join(folder, "log"), { create: true, write: true });
  const child = new Deno.Command("sh", {
    args: ["-c", 'exec "$@" >>"$LOG" 2>&1', "sh", ...runc, "run", "--bundle", folder, name],
    env: { LOG: join(folder, "log") },
    stdin: "null",
  }).spawn();
  await log.sync();
  const readLog = () => Deno.readTextFile(join(folder, "log"));
  let isOver = false;
  const ended = child.status.then(({ code }) => {
    isOver = true;
    return code;
  });

  async function state(): Promise<{ pid: number; status: string }> {
    return JSON.parse(await output(runc, ["state", name]));
  }

  return {
    readLog,
    /** Runs a program in it, and returns its exit code and output. */
    async execute(args: string[]): Promise<{ code: number; text: string }> {
      const { code, stdout, stderr } = await new Deno.Command(runc[0]!, {
        args: [...runc.slice(1), "exec", name, ...args],
      }).output();
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, text: `${decode(stdout)}${decode(stderr)}`.trim() };
    },
    /** Waits until a condition is true. @throws {Error} with the log when it ends, or after a minute */
    async waitUntil(what: string, isTrue: () => Promise<boolean>): Promise<void> {
      const deadline = performance.now() + START_MS;
      while (!await isTrue().catch(() => false)) {
        if (isOver || performance.now() > deadline) {
          throw new Error(`${what}: ${(await readLog()).slice(-2_000)}`);
        }
        await pause(50);
      }
    },
    async facts(): Promise<ProcessFacts> {
      const { pid } = await state();
      const status = await Deno.readTextFile(`/proc/${pid}/status`);
      const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
      const mounts = await Deno.readTextFile(`/proc/${pid}/mountinfo`);
      const [, options = ""] = /^\S+ \S+ \S+ \S+ \/ (\S+) /m.exec(mounts) ?? [];
      return {
        userIds: field("Uid"),
        capabilities: field("CapEff"),
        mayGainPrivileges: field("NoNewPrivs") !== "1",
        isRootReadOnly: options.split(",").includes("ro"),
        memoryMb: { now: megabytes(field("VmRSS")), peak: megabytes(field("VmHWM")) },
      };
    },
    /** Sends SIGTERM; returns the exit code and how long it took. */
    async stop(): Promise<{ code: number; seconds: number }> {
      const begun = performance.now();
      await run(runc, ["kill", name, "TERM"]);
      const code = await ended;
      return { code, seconds: (performance.now() - begun) / 1000 };
    },
    /** Removes it, whatever its state. */
    async remove(): Promise<void> {
      await run(runc, ["delete", "--force", name]).catch(() => {});
      await ended;
    },
  };
}

function megabytes(kilobytes: string): number {
  return Math.round(parseInt(kilobytes) * 1024 / 1e6);
}

/** The configuration of the OCI runtime. */
function configOf({ root, volume, userId, args, environment }: ContainerOptions) {
  const noCapabilities = { bounding: [], effective: [], permitted: [] };
  return {
    ociVersion: "1.0.2",
    process: {
      terminal: false,
      user: { uid: userId, gid: userId },
      args,
      env: ["PATH=/usr/local/bin:/usr/bin:/bin", ...environment],
      cwd: "/",
      capabilities: noCapabilities,
      rlimits: [{ type: "RLIMIT_NOFILE", hard: 16_384, soft: 16_384 }],
      noNewPrivileges: true,
    },
    root: { path: root, readonly: true },
    hostname: "test-analytics",
    mounts: [
      { destination: "/proc", type: "proc", source: "proc" },
      {
        destination: "/dev",
        type: "tmpfs",
        source: "tmpfs",
        options: ["nosuid", "strictatime", "mode=755", "size=65536k"],
      },
      { destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev"] },
      { destination: "/data", type: "bind", source: volume, options: ["rbind", "rw"] },
    ],
    // The network of this machine: the checks connect to 127.0.0.1.
    linux: {
      namespaces: ["pid", "ipc", "uts", "mount"].map((type) => ({ type })),
      resources: { memory: { limit: MEMORY_BYTES } },
    },
  };
}
