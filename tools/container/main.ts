/**
 * `deno run -A --config tests/deno.json tools/container/main.ts`: builds the image of `deploy/Dockerfile`, runs it as `deploy/compose.up.yaml` does,
 * and checks its user, its files, its health, its volume and its stop. Needs Linux, root, buildah and runc;
 * no Docker, and no registry of images unless `--base` names one.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { taskOptions } from "../../tests/task_options.ts";
import { output, run } from "./commands.ts";
import { startContainer } from "./container.ts";
import { buildImage, type ImageOptions, inspectImage, USER_ID } from "./image.ts";

const USAGE = `
deno run -A --config tests/deno.json tools/container/main.ts [--base IMAGE] [--binary FILE]

  --base IMAGE    the base image; without it, one is made of Debian's packages
  --binary FILE   the program, as deno task build linux-x64 writes it; without it, the image has the
                  bundle and this Deno
`;

/** compose.up.yaml waits 45 s. */
const STOP_SECONDS = 10;

export function readOptions(args: string[]): ImageOptions {
  const { values } = parseArgs({
    args,
    options: { base: { type: "string" }, binary: { type: "string" } },
  });
  return { base: values.base ?? null, binary: values.binary ?? null };
}

function note(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}

/** The rows of the table, and whether all checks passed. */
class Report {
  readonly rows: string[] = [];
  isGood = true;

  add(check: string, isGood: boolean, seen: string): void {
    this.isGood &&= isGood;
    this.rows.push(`| ${check} | ${isGood ? "ok" : "FAILED"} | ${seen} |`);
  }
}

async function freePort(): Promise<number> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return await Promise.resolve(listener.addr.port);
}

async function check(folder: string, options: ImageOptions): Promise<Report> {
  const report = new Report();
  // Images and containers of its own, removed with the folder.
  const buildah = ["buildah", "--root", join(folder, "images"), "--runroot", join(folder, "run")]
    .concat("--storage-driver", "vfs");
  const image = await buildImage(folder, { ...options, buildah, note });
  const config = await inspectImage(buildah, image);
  const from = (await output(buildah, ["from", "--pull-never", image])).trim();
  const root = (await output(buildah, ["mount", from])).trim();
  try {
    const [size = ""] = (await output(["du"], ["-sm", root])).split("\t");
    report.add("user", /^(nonroot|65532)(:|$)/.test(config.user), config.user);
    report.add(
      "volume and ports",
      config.volumes.join() === "/data",
      [
        ...config.volumes,
        ...config.ports,
      ].join(", "),
    );
    const shells = ["bin/sh", "usr/bin/sh", "bin/bash", "usr/bin/apt", "usr/bin/dpkg"];
    const found = shells.filter((path) => exists(join(root, path)));
    report.add("no shell, no package manager", found.length === 0, found.join(", ") || "none");
    const { uid: rootOwner } = await Deno.stat(root);
    report.add("owner of /", rootOwner === 0, `user ${rootOwner}`);
    report.add("size", true, `${size} MB`);
    // A new volume gets the contents and the rights of the image's folder.
    const volume = join(folder, "volume");
    await run(["cp"], ["--archive", join(root, "data"), volume]);
    await checkRuns(report, { folder, root, volume, config });
  } finally {
    await run(buildah, ["umount", from]);
  }
  return report;
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

async function checkRuns(report: Report, { folder, root, volume, config }: {
  folder: string;
  root: string;
  volume: string;
  config: Awaited<ReturnType<typeof inspectImage>>;
}): Promise<void> {
  const [port, uploadPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const ports = { PORT: port, UPLOAD_PORT: uploadPort, HOST: "127.0.0.1" };
  const environment = [
    ...config.environment.filter((pair) => !(pair.split("=")[0]! in ports)),
    ...Object.entries(ports).map(([name, value]) => `${name}=${value}`),
  ];
  const start = (name: string) =>
    startContainer({
      root,
      folder: join(folder, name),
      volume,
      userId: USER_ID,
      args: [...config.entrypoint, ...config.command],
      environment,
    });
  const isUp = async () => (await fetch(`${url}/health`)).ok;

  const first = await start("first");
  let token = "";
  try {
    const begun = performance.now();
    await first.waitUntil("does not respond", isUp);
    const startSeconds = (performance.now() - begun) / 1000;
    const facts = await first.facts();
    const isUser = facts.userIds.split(/\s+/).every((id) => Number(id) === USER_ID);
    report.add("user of the process", isUser, facts.userIds.replaceAll("\t", " "));
    report.add("capabilities", /^0+$/.test(facts.capabilities), facts.capabilities);
    report.add("no new privileges", !facts.mayGainPrivileges, String(!facts.mayGainPrivileges));
    const program = (...args: string[]) => first.execute([...config.entrypoint, ...args]);
    const written = await program("backup", "/usr/local/copy");
    report.add(
      "read-only files",
      facts.isRootReadOnly && written.code === 1 && /read-only/i.test(written.text),
      `mounted read-only; a write: ${written.text.replace(/^error: /, "").slice(0, 60)}`,
    );
    const health = await first.execute(config.healthCheck.slice(1));
    report.add("health check", health.code === 0, `exit code ${health.code}`);
    report.add("start", true, `${startSeconds.toFixed(1)} s, with a new database`);

    await program("org", "create", "acme");
    const upload = (await program("token", "create", "--org", "acme", "--upload")).text;
    token = (await program("token", "create", "--org", "acme")).text;
    const commit = "4f2a9c1".padEnd(40, "0");
    const response = await fetch(
      `http://127.0.0.1:${uploadPort}/upload/acme/shop?commit=${commit}`,
      {
        method: "PUT",
        headers: { authorization: `Bearer ${upload}` },
        body: '<testsuite name="unit"><testcase classname="c" name="adds up"/></testsuite>',
      },
    );
    await response.body?.cancel();
    await first.waitUntil("the upload is not processed", () => isStored(url, token));
    report.add("upload", response.status === 202, `${response.status}, then in the API`);
    const { memoryMb } = await first.facts();
    report.add("memory", true, `${memoryMb.now} MB, at most ${memoryMb.peak} MB`);
    const { code, seconds } = await first.stop();
    report.add(
      "stop by SIGTERM",
      code === 0 && seconds < STOP_SECONDS,
      `exit code ${code} after ${seconds.toFixed(1)} s`,
    );
  } finally {
    await first.remove();
  }

  const { uid, mode } = await Deno.stat(join(volume, "postgres"));
  const rights = ((mode ?? 0) & 0o777).toString(8);
  report.add(
    "files of the volume",
    uid === USER_ID && rights === "700",
    `user ${uid}, mode ${rights}`,
  );
  const second = await start("second");
  try {
    await second.waitUntil("does not respond", isUp);
    const isKept = await isStored(url, token);
    report.add("volume in the next container", isKept, isKept ? "the upload is there" : "empty");
    const { memoryMb } = await second.facts();
    report.add("its memory", true, `${memoryMb.now} MB, at most ${memoryMb.peak} MB`);
    const lines = (await second.readLog()).split("\n");
    const warnings = lines.filter((line) => /"level":"(warn|error)"/.test(line));
    report.add("no warnings in the log", warnings.length === 0, warnings.join(" ") || "none");
    await second.stop();
  } finally {
    await second.remove();
  }
}

async function isStored(url: string, token: string): Promise<boolean> {
  const response = await fetch(`${url}/api/repos/acme/shop/submissions`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { submissions = [] } = await response.json();
  return submissions[0]?.status === "processed";
}

async function main(): Promise<number> {
  const options = taskOptions(readOptions, {
    usage: USAGE,
    example: "deno run -A --config tests/deno.json tools/container/main.ts",
  });
  for (const program of ["buildah", "runc"]) {
    try {
      await run([program], ["--version"]);
    } catch {
      note(`error: ${program} is missing: apt-get install -y buildah runc`);
      return 1;
    }
  }
  if (Deno.uid() !== 0) {
    note("error: expected root, who can mount the image");
    return 1;
  }
  const folder = await Deno.makeTempDir({ dir: tmpdir(), prefix: "test-analytics-container-" });
  // The user of the container has to reach its files.
  await Deno.chmod(folder, 0o711);
  try {
    const { rows, isGood } = await check(folder, options);
    const table = ["| check | | seen |", "| --- | --- | --- |", ...rows].join("\n");
    Deno.stdout.writeSync(new TextEncoder().encode(`${table}\n`));
    return isGood ? 0 : 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await main());
