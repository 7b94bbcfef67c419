/** Kills `receive` and `up` at random times while several clients upload. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { run, type Running, start } from "../../../tests/e2e/program.ts";
import type { FaultOptions } from "./main.ts";
import { addToken, createRunDatabase, type RunDatabase } from "./run_database.ts";
import { type Row, spread } from "./row.ts";
import { SystemUnderTest } from "./system_under_test.ts";
import { requestOf, type Upload } from "./uploads.ts";
import { pause } from "../../../lib/base/delay.ts";

/** New tests per upload. */
const TESTS = 300;
const CLIENTS = 6;
/** Tries per repository. */
const REPOSITORY_TRIES = 10;
/** Timeout for the inbox of `up` to become empty. */
const PROCESSED_WITHIN_MS = 120_000;

type Command = "receive" | "up";

interface Outcome {
  kills: number;
  acknowledged: number;
  /** Cut or refused; some of them were stored nevertheless. */
  others: number;
  stored: number;
  recoveryMs: number[];
}

/** Spreads `tries` kills evenly over both databases and the two commands. */
export async function receiverFaults(
  { tries, random, say, databases }: FaultOptions,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of databases) {
    for (const command of ["receive", "up"] as const) {
      const system = await SystemUnderTest.on(await createRunDatabase(kind), random);
      system.isConcurrent = true;
      try {
        const count = Math.ceil(tries / 2 / databases.length);
        rows.push(rowOf(command, kind, await kills(system, { command, count, say })));
        say(JSON.stringify(rows.at(-1)));
      } finally {
        await system.remove();
      }
    }
  }
  return rows;
}

function rowOf(command: Command, database: RunDatabase["kind"], outcome: Outcome): Row {
  const { kills, acknowledged, others, stored, recoveryMs } = outcome;
  return {
    fault: `kill -9 of \`${command}\` during ${CLIENTS} uploads at once`,
    database,
    tries: kills,
    seen: `${acknowledged} uploads acknowledged, ${others} not, of which ${stored} were stored`,
    lost: "nothing",
    recovery: spread(recoveryMs),
  };
}

async function kills(
  system: SystemUnderTest,
  { command, count, say }: { command: Command; count: number; say: (text: string) => void },
): Promise<Outcome> {
  const outcome = { kills: 0, acknowledged: 0, others: 0, stored: 0, recoveryMs: [] as number[] };
  const receiver = new Receiver(
    system,
    command,
    await addToken(system.runDatabase.environment, "--upload"),
  );
  // How long the latest uploads took; the kills are spread over it.
  let lengthMs = 0;
  try {
    for (let tries = 0; outcome.kills < count; tries++) {
      if (tries % REPOSITORY_TRIES === 0) {
        await receiver.stop();
        await system.newRepository(TESTS);
        await system.endService("SIGTERM");
        await receiver.start();
        const begun = performance.now();
        const { acknowledged } = await receiver.upload(nextUploads(system));
        assert.equal(acknowledged.length, CLIENTS);
        lengthMs = performance.now() - begun;
        system.certain.push(...acknowledged);
      }
      const uploads = nextUploads(system);
      const uploading = receiver.upload(uploads);
      await pause(system.random.next() * lengthMs * 0.9);
      await receiver.kill();
      outcome.kills++;
      const { acknowledged, others } = await uploading;
      const begun = performance.now();
      await receiver.start();
      outcome.recoveryMs.push(performance.now() - begun);
      // Acknowledged uploads are stored without being repeated.
      await receiver.process();
      system.certain.push(...acknowledged);
      const { there } = await receiver.check(...others);
      outcome.acknowledged += acknowledged.length;
      outcome.others += others.length;
      outcome.stored += there.length;
      // Clients repeat what was not acknowledged, and what was when the response was lost.
      const againBegun = performance.now();
      const again = await receiver.upload(uploads);
      lengthMs = performance.now() - againBegun;
      assert.equal(again.others.length, 0);
      await receiver.process();
      system.certain.push(...others);
      assert.equal((await receiver.check()).unprocessed, 0);
      await receiver.checkFolder();
      if (outcome.kills % 10 === 0) {
        say(
          `${system.runDatabase.kind}: ${outcome.kills} kills of ${command}; ${
            JSON.stringify(outcome)
          }`,
        );
      }
    }
    return outcome;
  } finally {
    await receiver.stop();
  }
}

function nextUploads(system: SystemUnderTest): Upload[] {
  return Array.from({ length: CLIENTS }, () => system.nextUpload(TESTS));
}

/** The program that receives uploads, and its inbox. */
class Receiver {
  readonly #folder: string;
  #running: Running | null = null;

  constructor(
    readonly system: SystemUnderTest,
    readonly command: Command,
    readonly token: string,
  ) {
    const { DATA_DIR = system.folder } = system.runDatabase.environment;
    this.#folder = command === "up" ? join(DATA_DIR, "inbox") : join(system.folder, "inbox");
  }

  async start(): Promise<void> {
    const { environment } = this.system.runDatabase;
    this.#running = this.command === "up"
      ? await start(["up", "--port", "0", "--upload-port", "0"], {
        DATA_DIR: this.system.folder,
        ...environment,
      })
      : await start(["receive", "--to", this.#folder, "--port", "0"], environment);
  }

  async stop(): Promise<void> {
    const ending = await this.#running?.stop("SIGTERM");
    this.#running = null;
    if (ending) assert.equal(ending.code, 0, ending.stderr);
  }

  async kill(): Promise<void> {
    await this.#running?.stop("SIGKILL");
    this.#running = null;
  }

  /** Uploads at the same time, as as many clients. */
  async upload(uploads: readonly Upload[]): Promise<{ acknowledged: Upload[]; others: Upload[] }> {
    const { url, uploadUrl } = this.#running!;
    const acknowledged: Upload[] = [];
    const others: Upload[] = [];
    await Promise.all(uploads.map(async (upload) => {
      const { path, body } = await requestOf(upload);
      const response = await fetch(`${uploadUrl || url}${path}`, {
        method: "PUT",
        headers: { authorization: `Bearer ${this.token}` },
        body,
      }).catch(() => null);
      const text = await response?.text().catch(() => "");
      if (response?.status === 202) acknowledged.push(upload);
      else if (response === null) others.push(upload);
      else throw new Error(`${response.status}: ${text}`);
    }));
    return { acknowledged, others };
  }

  /** Waits until the archives in the inbox are processed, or has them processed. */
  async process(): Promise<void> {
    const { runDatabase } = this.system;
    if (this.command === "receive") {
      const args = ["watch", this.#folder, "--org", "acme", "--once"];
      const { code, stdout, stderr } = await run(args, runDatabase.environment);
      assert.equal(code, 0, stdout + stderr);
      return;
    }
    const deadline = performance.now() + PROCESSED_WITHIN_MS;
    while ((await this.#archives()).length > 0) {
      assert.ok(performance.now() < deadline, "archives stay in the inbox");
      await pause(100);
    }
  }

  /** Checks what is stored; `up` and the service share the embedded database. */
  async check(...doubtful: Upload[]): Promise<{ there: Upload[]; unprocessed: number }> {
    const checked = await this.system.check(...doubtful);
    if (this.command === "up") await this.system.endService("SIGTERM");
    return checked;
  }

  /** Nothing of the killed programs is left. */
  async checkFolder(): Promise<void> {
    const unfinished = await Array.fromAsync(Deno.readDir(join(this.#folder, ".unfinished")));
    const folders = unfinished.filter(({ isDirectory }) => isDirectory);
    assert.equal(folders.length, 1, "only the folder of the running program is there");
    const files = await Array.fromAsync(
      Deno.readDir(join(this.#folder, ".unfinished", folders[0]!.name)),
    );
    assert.deepEqual(files.map(({ name }) => name), ["lock"]);
    for (const path of await this.#archives()) await Deno.remove(path);
  }

  async #archives(folder = this.#folder): Promise<string[]> {
    const found: string[] = [];
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = join(folder, name);
      if (name.startsWith(".")) continue;
      if (isDirectory) found.push(...await this.#archives(path));
      else found.push(path);
    }
    return found;
  }
}
