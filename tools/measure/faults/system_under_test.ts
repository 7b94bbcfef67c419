/** A database with a service, and the record of the uploads that must be stored in it. */
import assert from "node:assert/strict";
import { openDatabase } from "../../../db/connection/connect.ts";
import type { Random } from "../bench/random.ts";
import { run, type Running, start } from "../../../tests/e2e/program.ts";
import { checkUploads, type Service } from "./requests.ts";
import type { RunDatabase } from "./run_database.ts";
import { makeUpload, type Upload, writeForIngest } from "./uploads.ts";
import { pause } from "../../../lib/base/delay.ts";

/** Seconds by which the earliest upload is in the past: inside the window, whatever a run takes. */
const AGE = 10 * 86_400;

/** Length of the log excerpt in error messages. */
const LOG_CHARACTERS = 3_000;

/** A query of the embedded database that takes this long waits for a transaction. */
const STORING_DELAY_MS = 30;

/** Sees the transaction of an upload. */
interface StoringWatch {
  hasBegun(): boolean;
  /** Waits until it has begun, or the upload is over. */
  begin(isOver: () => boolean): Promise<void>;
  stop(): Promise<void>;
}

/** The system under test. */
export class SystemUnderTest {
  /** Uploads of the current repository that must be stored, in their order. */
  certain: Upload[] = [];
  repository = "";
  /** Set by faults that upload several at a time. */
  isConcurrent = false;
  /** Files of uploads. */
  readonly folder: string;
  readonly #since = Math.floor(Date.now() / 1000) - AGE;
  #running: Running | null = null;
  #no = 0;
  #repositories = 0;

  private constructor(readonly runDatabase: RunDatabase, readonly random: Random, folder: string) {
    this.folder = folder;
  }

  static async on(runDatabase: RunDatabase, random: Random): Promise<SystemUnderTest> {
    return new SystemUnderTest(
      runDatabase,
      random,
      await Deno.makeTempDir({ prefix: "test-analytics-faults-" }),
    );
  }

  /** Turns to a repository that does not exist yet. */
  nextRepository(): void {
    this.repository = `acme/shop-${++this.#repositories}`;
    this.certain = [];
  }

  /** Starts a new repository with one undisturbed upload; returns its duration in milliseconds. */
  async newRepository(testCount: number): Promise<number> {
    this.nextRepository();
    const args = await this.ingestArgs(this.nextUpload(testCount));
    const begun = performance.now();
    const { code, stderr } = await run(args, this.runDatabase.environment);
    assert.equal(code, 0, stderr);
    const passed = performance.now() - begun;
    this.certain.push(this.latest);
    return passed;
  }

  latest!: Upload;

  /** Makes the next upload of the repository. */
  nextUpload(testCount: number): Upload {
    const { repository } = this;
    this.latest = makeUpload(this.#no++, { repository, since: this.#since, testCount });
    return this.latest;
  }

  /** Writes the files of an upload; returns the arguments of `ingest`. */
  ingestArgs(upload: Upload): Promise<string[]> {
    return writeForIngest(upload, this.folder);
  }

  /** Whether the service is running. */
  get isServing(): boolean {
    return this.#running !== null;
  }

  /** The service; starts it unless it is running. */
  async service(): Promise<Service> {
    this.#running ??= await start(["serve", "--port", "0"], this.runDatabase.environment);
    return this.address();
  }

  /** Address of the service, also after it has ended. */
  address(): Service {
    if (this.#running) this.#lastUrl = this.#running.url;
    return { url: this.#lastUrl, token: this.runDatabase.token };
  }

  #lastUrl = "http://127.0.0.1:1";

  /** Stops the service if it is running. */
  async endService(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    this.address();
    this.#running = null;
    const { code, stderr } = await running.stop(signal);
    if (signal === "SIGTERM") assert.equal(code, 0, stderr);
  }

  /** Asserts that exactly the certain uploads are stored; see {@link checkUploads}. */
  async check(...doubtful: Upload[]): Promise<{ there: Upload[]; unprocessed: number }> {
    const { repository, certain } = this;
    const service = await this.service();
    try {
      const { isConcurrent } = this;
      return await checkUploads(service, { repository, certain, doubtful, isConcurrent });
    } catch (error) {
      const ending = await this.#running?.stop("SIGTERM");
      this.#running = null;
      throw new Error(`log of the service: ${ending?.stderr.slice(-LOG_CHARACTERS)}`, {
        cause: error,
      });
    }
  }

  /**
   * Watches for the transaction that stores an upload. The service must be running: the owner of the
   * embedded database has to be a program under test.
   */
  async watchStoring(): Promise<StoringWatch> {
    const { kind, environment: { DATABASE_URL, DATA_DIR = "" } } = this.runDatabase;
    const { sql, close } = await openDatabase({ databaseUrl: DATABASE_URL, dataDir: DATA_DIR });
    let hasBegun = false;
    let isStopped = false;
    const look = async () => {
      // The embedded database answers no other client during a transaction.
      const timer = setTimeout(() => hasBegun ||= kind === "embedded", STORING_DELAY_MS);
      const locks = await sql`
        select 1 from pg_locks
        where relation = 'test'::regclass and mode = 'RowExclusiveLock'
          and database = (select oid from pg_database where datname = current_database())`;
      clearTimeout(timer);
      hasBegun ||= locks.length > 0;
      await pause(kind === "embedded" ? 10 : 2);
    };
    const watching = (async () => {
      while (!hasBegun && !isStopped) await look();
    })();
    return {
      hasBegun: () => hasBegun,
      async begin(isOver) {
        while (!hasBegun && !isOver()) await pause(1);
      },
      async stop() {
        isStopped = true;
        await watching;
        await close();
      },
    };
  }

  /** Stops the service and removes the database and all files. */
  async remove(): Promise<void> {
    await this.endService("SIGTERM");
    await Deno.remove(this.folder, { recursive: true });
    await this.runDatabase.remove();
  }
}
