/** The databases of a run: filled once, copied for sections that change them. */
import { migrations } from "../../../db/schema/migrations/mod.ts";
import type { PostgresServer } from "./postgres_server.ts";
import { fillHistory, fillWindow, type Scenario } from "./scenario.ts";

/** How many results each database holds. */
export interface Sizes {
  /** The window of the large repository, in addition to smaller repositories. */
  small: number;
  /** The same and a long history. */
  large: number;
  /** The window of a busier large repository: what requests are measured on. */
  measured: number;
}

/** A filled database by name; filled when it is asked for first. */
export interface Databases {
  get(name: keyof Sizes): Promise<Scenario>;
  /** A copy that the caller may change. */
  copy(name: keyof Sizes, copy: string): Promise<Scenario>;
}

/** What a folder says of a database in it. */
interface Kept extends Scenario {
  /** What it was made from; another one means other data. */
  origin: string;
}

// Incremented when the generator changes, or a size other than the number of results.
const GENERATOR_VERSION = 2;
const WINDOW_MOVED_SECONDS = 3_600;

/**
 * Provides databases, and records in `folder` (when it is given) which ones exist.
 *
 * @throws {Error} when the folder holds databases of other sizes or of another version
 */
export function databasesOf(
  server: PostgresServer,
  { sizes, folder, report }: {
    sizes: Sizes;
    folder: string | undefined;
    report: (line: string) => void;
  },
): Databases {
  const filled = new Map<string, Promise<Scenario>>();
  // Two names of the same content are one database.
  const nameOf = (name: keyof Sizes) =>
    name === "measured" && sizes.measured === sizes.small ? "small" : name;

  function get(wanted: keyof Sizes): Promise<Scenario> {
    const name = nameOf(wanted);
    let scenario = filled.get(name);
    if (!scenario) filled.set(name, scenario = keptOrFilled(name));
    return scenario;
  }

  async function keptOrFilled(name: keyof Sizes): Promise<Scenario> {
    const origin = `${GENERATOR_VERSION}:${migrations.length}:${sizes[name]}` +
      (name === "large" ? `:${sizes.small}` : "");
    const kept = folder && await readKept(`${folder}/${name}.json`);
    if (kept) {
      if (kept.origin !== origin) {
        throw new Error(
          `"${folder}" holds a database "${name}" of other data: expected a new folder`,
        );
      }
      const age = Math.floor(Date.now() / 1000) - kept.filledAt;
      if (age > WINDOW_MOVED_SECONDS) {
        report(
          `NOTE: "${name}" was filled ${(age / 3600).toFixed(1)} hours ago; the window moved on ` +
            `and holds less than it should`,
        );
      }
      return { ...kept, databaseUrl: server.url(name) };
    }
    const scenario = await fill(name);
    if (folder) {
      const text = JSON.stringify({ ...scenario, origin } satisfies Kept);
      await Deno.writeTextFile(`${folder}/${name}.json`, text);
    }
    return scenario;
  }

  async function fill(name: keyof Sizes): Promise<Scenario> {
    if (name === "large") {
      const small = await get("small");
      report(`\nfilling database "large" with ${sizes.large} results, "small" among them`);
      const databaseUrl = await server.copyDatabase("small", "large");
      return await fillHistory(small, { databaseUrl, resultCount: sizes.large, report });
    }
    report(`\nfilling database "${name}" with ${sizes[name]} results`);
    const databaseUrl = await server.createDatabase(name);
    return await fillWindow(databaseUrl, { resultCount: sizes[name], report });
  }

  return {
    get,
    async copy(name, copy) {
      const scenario = await get(name);
      return { ...scenario, databaseUrl: await server.copyDatabase(nameOf(name), copy) };
    },
  };
}

async function readKept(path: string): Promise<Kept | null> {
  try {
    return JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
