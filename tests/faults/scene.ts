/** A place with a service, and a record of what must be in it. */
import assert from "node:assert/strict";
import { openDatabase } from "../../db/connection/connect.ts";
import type { Random } from "../bench/random.ts";
import { pause } from "../e2e/launch.ts";
import { run, type Running, start } from "../e2e/program.ts";
import { checkUploads, type Service } from "./requests.ts";
import type { Place } from "./place.ts";
import { makeUpload, type Upload, writeForIngest } from "./uploads.ts";

/** Seconds by which the earliest upload is in the past: inside the window, whatever a run takes. */
const AGE = 10 * 86_400;

/** How much of a service's log is told when its answers are wrong. */
const LOG_CHARACTERS = 3_000;

/** What a fault happens to. */
export class Scene {
  /** Uploads of the repository of the moment that must be there. */
  certain: Upload[] = [];
  repository = "";
  /** Files of uploads. */
  readonly folder: string;
  readonly #since = Math.floor(Date.now() / 1000) - AGE;
  #running: Running | null = null;
  #no = 0;
  #repositories = 0;

  private constructor(readonly place: Place, readonly random: Random, folder: string) {
    this.folder = folder;
  }

  static async on(place: Place, random: Random): Promise<Scene> {
    return new Scene(place, random, await Deno.makeTempDir({ prefix: "test-analytics-faults-" }));
  }

  /** Goes on with a new repository, which gets an upload that nobody disturbs; returns its ms. */
  async newRepository(testCount: number): Promise<number> {
    this.repository = `acme/shop-${++this.#repositories}`;
    this.certain = [];
    const args = await this.ingestArgs(this.nextUpload(testCount));
    const begun = performance.now();
    const { code, stderr } = await run(args, this.place.environment);
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

  /** Writes the files of an upload; returns the arguments of the command that takes them in. */
  ingestArgs(upload: Upload): Promise<string[]> {
    return writeForIngest(upload, this.folder);
  }

  /** Whether a service runs. */
  get isServing(): boolean {
    return this.#running !== null;
  }

  /** The service, which is started unless it runs. */
  async service(): Promise<Service> {
    this.#running ??= await start(["serve", "--port", "0"], this.place.environment);
    return this.address();
  }

  /** Address of the service, also when it has ended. */
  address(): Service {
    if (this.#running) this.#lastUrl = this.#running.url;
    return { url: this.#lastUrl, token: this.place.token };
  }

  #lastUrl = "http://127.0.0.1:1";

  /** Ends the service, if one runs. */
  async endService(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    this.address();
    this.#running = null;
    const { code, stderr } = await running.stop(signal);
    if (signal === "SIGTERM") assert.equal(code, 0, stderr);
  }

  /** Asserts that exactly what must be there is there; see {@link checkUploads}. */
  async check(...doubtful: Upload[]): Promise<{ there: Upload[]; unprocessed: number }> {
    const { repository, certain } = this;
    const service = await this.service();
    try {
      return await checkUploads(service, { repository, certain, doubtful });
    } catch (error) {
      const ending = await this.#running?.stop("SIGTERM");
      this.#running = null;
      throw new Error(`the service said: ${ending?.stderr.slice(-LOG_CHARACTERS)}`, {
        cause: error,
      });
    }
  }

  /**
   * Looks at the database until an upload that begins now has stored so many of its tests. The
   * service must run: who has the embedded database open is a program that is tested, not this one.
   */
  async untilStored(
    testCount: number,
  ): Promise<{ reached(isOver: () => boolean): Promise<void> }> {
    const { DATABASE_URL, DATA_DIR = "" } = this.place.environment;
    const { sql, close } = await openDatabase({ databaseUrl: DATABASE_URL, dataDir: DATA_DIR });
    const testNo = async () => {
      const [row] = await sql<{ no: number }[]>`
        select next_test_no as no from repository where owner || '/' || name = ${this.repository}`;
      return row!.no;
    };
    const before = await testNo();
    // Whoever asks the embedded database takes its time from those who write.
    const pauseMs = this.place.kind === "embedded" ? 25 : 2;
    return {
      async reached(isOver) {
        while (await testNo() < before + testCount && !isOver()) await pause(pauseMs);
        await close();
      },
    };
  }

  /** How many of the tests that only this upload has are stored, whether anybody can see them or not. */
  async storedTests({ no, repository }: Upload): Promise<number> {
    const { DATABASE_URL, DATA_DIR = "" } = this.place.environment;
    // Its owner must be a program that is tested, not this one.
    await this.service();
    const { sql, close } = await openDatabase({ databaseUrl: DATABASE_URL, dataDir: DATA_DIR });
    try {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int as count from test
        where repository_id = (select repository_id from repository
            where owner || '/' || name = ${repository})
          and name like ${`test % of ${no}`}`;
      return row!.count;
    } finally {
      await close();
    }
  }

  /** Ends the service and removes all that there is. */
  async remove(): Promise<void> {
    await this.endService("SIGTERM");
    await Deno.remove(this.folder, { recursive: true });
    await this.place.remove();
  }
}
