/** Kills `ingest`, `watch` and `serve` at random times. */
import assert from "node:assert/strict";
import { launch, type Launched } from "../../../tests/e2e/launch.ts";
import { run } from "../../../tests/e2e/program.ts";
import type { FaultOptions } from "./main.ts";
import { KillTimings, type Phase, PHASES } from "./timings.ts";
import { createRunDatabase } from "./run_database.ts";
import { addTally, startProber } from "./prober.ts";
import { type Row, seconds, spread, tallyText } from "./row.ts";
import { SystemUnderTest } from "./system_under_test.ts";
import { putArchive, type Upload } from "./uploads.ts";
import { pause } from "../../../lib/base/delay.ts";

/** New tests per upload: enough for a transaction that can be hit. */
const TESTS = 4_000;

/** Uploads per repository. */
const REPOSITORY_UPLOADS = 30;

/** Lease of a killed watcher's claim. */
const LEASE_MS = 1_000;

type Command = "ingest" | "watch" | "serve";

/** Whether the service has the embedded database open when a program is killed. */
type Company = "service first" | "service later" | "alone";

/** Result of the kills of one command. */
interface Outcome {
  kills: number;
  hits: Map<Phase, number>;
  /** Responses of the service meanwhile. */
  tally: Map<string, number>;
  gapMs: number;
  recoveryMs: number[];
}

/** Spreads `tries` kills evenly over both databases and the three commands. */
export async function killFaults({ tries, random, say, databases }: FaultOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of databases) {
    for (const command of ["ingest", "watch", "serve"] as const) {
      const system = await SystemUnderTest.on(await createRunDatabase(kind), random);
      try {
        const outcome = await kills(system, {
          command,
          count: Math.ceil(tries / 3 / databases.length),
          say,
        });
        rows.push(killRow(command, kind, outcome));
        say(JSON.stringify(rows.at(-1)));
      } finally {
        await system.remove();
      }
    }
  }
  return rows;
}

/** The row of the kills of a command. */
export function killRow(command: Command, database: Row["database"], outcome: Outcome): Row {
  const { kills, hits, tally, gapMs, recoveryMs } = outcome;
  const rest = kills - [...hits.values()].reduce((sum, count) => sum + count, 0);
  const phases = [...hits, ["acknowledged", rest]].map(([phase, count]) => `${count} ${phase}`)
    .join(", ");
  return {
    fault: `kill -9 of \`${command}\`` + (command === "serve" ? " during uploads" : `: ${phases}`),
    database,
    tries: kills,
    seen: `${tallyText(tally)}; longest gap without a response ${seconds(gapMs)}`,
    lost: "nothing",
    recovery: spread(recoveryMs),
  };
}

/** Kills a command at random times. */
export async function kills(
  system: SystemUnderTest,
  { command, count, say }: { command: Command; count: number; say: (text: string) => void },
): Promise<Outcome> {
  const outcome: Outcome = {
    kills: 0,
    hits: new Map(PHASES.map((phase) => [phase, 0])),
    tally: new Map(),
    gapMs: 0,
    recoveryMs: [],
  };
  const timings = new Map<string, KillTimings>();
  let lengthMs = 0;
  for (let tries = 0; outcome.kills < count; tries++) {
    if (tries % REPOSITORY_UPLOADS === 0) lengthMs = await system.newRepository(TESTS);
    const company = companyOf(system, command);
    // A third at any time, the others after the beginning of the transaction: it is short compared
    // with the start of a program.
    const isAimed = command !== "serve" && company === "service first" &&
      system.random.below(3) > 0;
    const timingKey = `${company}, ${isAimed}`;
    const timing = timings.get(timingKey) ??
      new KillTimings(system.random, lengthMs / (isAimed ? 4 : 1));
    timings.set(timingKey, timing);
    const upload = system.nextUpload(TESTS);
    const afterMs = timing.next();
    const before = outcome.kills;
    try {
      if (command === "serve") await killService(system, { upload, afterMs, outcome });
      else {
        const phase = await killIntake(system, {
          command,
          upload,
          afterMs,
          isAimed,
          company,
          outcome,
        });
        timing.hit(afterMs, phase);
        if (phase !== "done") outcome.hits.set(phase, outcome.hits.get(phase)! + 1);
      }
    } catch (error) {
      say(`${system.runDatabase.kind}, ${command}, try ${tries}: ${company}, after ${afterMs} ms`);
      throw error;
    }
    if (outcome.kills > before && outcome.kills % 10 === 0) {
      const hits = [...outcome.hits].map((pair) => pair.join(" ")).join(", ");
      say(`${system.runDatabase.kind}: ${outcome.kills} kills of ${command}; ${hits}`);
    }
  }
  return outcome;
}

function companyOf({ runDatabase, random }: SystemUnderTest, command: Command): Company {
  if (command === "serve" || runDatabase.kind === "server") return "service first";
  // Opening the embedded database is slow: most tries run with a service that has it open.
  const companies = ["service first", "service first", "service first", "service later", "alone"];
  return companies[random.below(companies.length)] as Company;
}

/** Kills `ingest` or `watch`. Returns its phase, `done` when it had acknowledged the upload. */
async function killIntake(
  system: SystemUnderTest,
  { command, upload, afterMs, isAimed, company, outcome }: {
    command: "ingest" | "watch";
    upload: Upload;
    afterMs: number;
    /** Whether the time starts with the transaction of the upload. */
    isAimed: boolean;
    company: Company;
    outcome: Outcome;
  },
): Promise<Phase | "done"> {
  const { environment } = system.runDatabase;
  const intake = command === "ingest"
    ? await ingestOf(system, upload)
    : await watchOf(system, upload);
  if (company === "service first") await system.service();
  else await system.endService("SIGTERM");
  const prober = company === "service first" ? probe(system) : null;
  const storing = company === "service first" ? await system.watchStoring() : null;
  const program = launch(intake.args, environment);
  if (isAimed) await storing?.begin(program.isOver);
  const service = company === "service later" ? system.service() : null;
  await pause(afterMs);
  const isKilled = !program.isOver();
  const { code, stdout, stderr } = await program.kill();
  if (isKilled) outcome.kills++;
  else assert.equal(code, 0, stderr);
  await storing?.stop();
  const isAcknowledged = code === 0 || intake.acknowledged.test(stdout);
  await (service ?? system.service());
  if (prober) {
    const { tally, longestGapMs, wrong } = await prober.stop();
    assert.deepEqual(wrong, []);
    addTally(outcome.tally, tally);
    outcome.gapMs = Math.max(outcome.gapMs, longestGapMs);
  }
  const isThere = (await system.check(upload)).there.length > 0;
  if (isAcknowledged) assert.ok(isThere, "an acknowledged upload is missing");
  const phase = isAcknowledged
    ? "done"
    : isThere
    ? "committed"
    : storing?.hasBegun()
    ? "storing"
    : "reading";
  const begun = performance.now();
  await intake.again({ isThere });
  outcome.recoveryMs.push(performance.now() - begun);
  system.certain.push(upload);
  assert.equal((await system.check()).unprocessed, 0);
  return phase;
}

/** A way to upload. */
interface Intake {
  args: string[];
  /** Output of the program once the upload is stored. */
  acknowledged: RegExp;
  /** Repeats the upload, and asserts that it is stored once. */
  again(state: { isThere: boolean }): Promise<void>;
}

async function ingestOf(system: SystemUnderTest, upload: Upload): Promise<Intake> {
  const args = await system.ingestArgs(upload);
  return {
    args,
    acknowledged: /^acme\/\S+\n/,
    async again({ isThere }) {
      const { code, stdout, stderr } = await run(
        [...args, "--json"],
        system.runDatabase.environment,
      );
      assert.equal(code, 0, stderr);
      assert.equal(JSON.parse(stdout).duplicate, isThere);
    },
  };
}

async function watchOf(system: SystemUnderTest, upload: Upload): Promise<Intake> {
  const key = await putArchive(upload, system.folder);
  const args = ["watch", system.folder, "--org", "acme", "--interval", "1s"];
  return {
    args: [...args, "--lease", `${LEASE_MS / 1000}s`],
    acknowledged: new RegExp(`^${key}\tprocessed\t`, "m"),
    async again({ isThere }) {
      if (!isThere) {
        await pause(LEASE_MS + 100);
        const { code, stdout, stderr } = await run(
          [...args, "--once"],
          system.runDatabase.environment,
        );
        assert.equal(code, 0, stderr);
        assert.match(stdout, new RegExp(`^${key}\tprocessed\t`));
      }
      await Deno.remove(`${system.folder}/${key}`);
    },
  };
}

/** Kills the service during an upload and requests. */
async function killService(
  system: SystemUnderTest,
  { upload, afterMs, outcome }: { upload: Upload; afterMs: number; outcome: Outcome },
): Promise<void> {
  const args = await system.ingestArgs(upload);
  await system.service();
  const prober = probe(system);
  const program: Launched = launch(args, system.runDatabase.environment);
  await pause(afterMs);
  await system.endService("SIGKILL");
  outcome.kills++;
  const killedAt = performance.now();
  await system.service();
  await prober.untilRight();
  outcome.recoveryMs.push(performance.now() - killedAt);
  const { code, stderr } = await program.ending;
  const { tally, longestGapMs, wrong } = await prober.stop();
  assert.deepEqual(wrong, []);
  addTally(outcome.tally, tally);
  outcome.gapMs = Math.max(outcome.gapMs, longestGapMs);
  const isThere = (await system.check(upload)).there.length > 0;
  if (code === 0) assert.ok(isThere, "an acknowledged upload is missing");
  else {
    assert.match(stderr, /^error: /m);
    const again = await run([...args, "--json"], system.runDatabase.environment);
    assert.equal(again.code, 0, again.stderr);
    assert.equal(JSON.parse(again.stdout).duplicate, isThere);
  }
  system.certain.push(upload);
  await system.check();
}

/** A client that sees a running upload completely or not at all. */
function probe(system: SystemUnderTest) {
  const certain = system.certain.length;
  return startProber(() => system.address(), {
    target: `/api/repos/${system.repository}/submissions?limit=1`,
    isRight: (body) => [certain, certain + 1].includes(JSON.parse(body).count),
  });
}
