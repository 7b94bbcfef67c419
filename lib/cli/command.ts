/** How a command is described, how its input is validated, and the context it runs in. */
import type { Command, CommanderError } from "commander";
import * as v from "valibot";
import type { Database } from "../../db/connection/connect.ts";
import { readDatabaseUrl } from "../../db/connection/database_url.ts";
import {
  describeSetting,
  type Environment,
  meaningHere,
  setting,
  type SettingName,
  SETTINGS,
} from "../base/config.ts";
import { UsageError } from "./errors.ts";
import { commandHelp, type ExitCodes } from "./help.ts";
import type { Git } from "./intake/ci/git.ts";
import { type Cell, oneLine, plainLine } from "./output.ts";
import {
  camelCase,
  type CheckedSetting,
  readSecret,
  readSettings,
  type SettingValues,
} from "./settings.ts";
import { location } from "./values.ts";

/** Input and output of the program; tests pass their own. */
export interface CliIo {
  /** Writes to standard output. A closed pipe is not an error. */
  stdout(text: string): Promise<void>;
  /** Writes to standard error. */
  stderr(text: string): void;
  environment: Environment;
  /** Seconds since 1970. */
  now(): number;
  /** Progress is shown only on a terminal. */
  stderrIsTerminal: boolean;
  /** Aborted by the first signal to stop (SIGTERM, SIGINT). */
  stop: AbortSignal;
  /** Aborted by the second. */
  stopAtOnce: AbortSignal;
  /** Runs git in the current folder; the real git unless given. */
  git?: Git;
  /** Opens a database and migrates its schema. */
  openDatabase(location: DatabaseLocation, options: { mayCreate: boolean }): Promise<Database>;
}

/** The context that a command runs in. */
export interface CommandContext {
  io: CliIo;
  json: boolean;
  /** When the command started, in seconds since 1970. */
  now: number;
  /** From the options or the environment. */
  database: DatabaseLocation;
  /** Opens the database with a current schema; it is closed when the command ends. */
  openDatabase(): Promise<Database>;
  /** Prints the result: a line of text, or with `--json` a JSON value. */
  print(plain: string, value: unknown): Promise<void>;
  /** Prints a list: tab-separated lines of these fields without a header, or with `--json` an array. */
  printList<Key extends string, Item extends Record<Key, Cell>>(
    items: Item[],
    fields: Key[] | ((item: Item) => Cell[]),
  ): Promise<void>;
  /** Prints a line on standard error. */
  note(text: string): void;
}

/** A PostgreSQL server when there is a URL, else the embedded database in the folder. */
export interface DatabaseLocation {
  databaseUrl: string | undefined;
  dataDir: string;
}

/** Descriptions of options or arguments by their flags, such as `--org <name>` or `<test-id>`. */
export type Flags = Readonly<Record<string, string>>;

/** The schema of an object. */
type InputSchema = v.GenericSchema & { readonly entries: v.ObjectEntries };

/** The definition of a command. */
interface CommandSpec<Input extends InputSchema, Name extends CheckedSetting> {
  name: string;
  summary: string;
  /** A valid command without the program's name: shown by `--help` and after a usage error. */
  example: string;
  /** More examples for `--help`. */
  moreExamples?: string[];
  /** Paragraphs for `--help`. */
  details?: string[];
  /** Exit codes that mean something else than usual. */
  exitCodes?: ExitCodes;
  /** Each argument and option is a key of `input`, in camel case. */
  arguments?: Flags;
  options?: Flags;
  /** False for a command that opens no database, or one of its own. */
  usesDatabase?: boolean;
  /** Creates a missing embedded database. Others fail: a typing error must not leave a folder behind. */
  createsDatabase?: boolean;
  /** Validates arguments and options, before anything is opened or written. */
  input: Input;
  /** Settings that the command reads from options and the environment. */
  settings?: readonly Name[];
  /** Other environment variables that it reads. */
  environment?: readonly SettingName[];
  run(
    input: v.InferOutput<Input>,
    context: CommandContext,
    settings: SettingValues<Name>,
  ): Promise<void>;
}

const DATABASE_OPTIONS: Flags = {
  "--database-url <url>": "PostgreSQL server (passwords are safer in DATABASE_URL)",
  "--data-dir <folder>": "folder of the embedded database",
};

const DATABASE_SETTINGS = ["DATABASE_URL", "DATABASE_URL_FILE", "DATA_DIR"] as const;

/** The options of every command. */
const SHARED = v.object({
  json: v.optional(v.boolean(), false),
  databaseUrl: v.optional(location),
  dataDir: v.optional(location),
});

/** Adds a command, or a group of them, to the program. */
export type AddCommand = (program: Command, io: CliIo) => void;

/** Defines a group of commands, such as `org`. */
export function group({ name, summary, example, commands }: {
  name: string;
  summary: string;
  example: string;
  commands: readonly AddCommand[];
}): AddCommand {
  return (parent, io) => {
    const group = parent.command(name).description(summary).enablePositionalOptions()
      .exitOverride(asUsageError(example));
    for (const add of commands) add(group, io);
  };
}

/** Defines a command. */
export function command<Input extends InputSchema, Name extends CheckedSetting = never>(
  spec: CommandSpec<Input, Name>,
): AddCommand {
  return (parent, io) => {
    const command = parent.command(spec.name).description(spec.summary)
      .exitOverride(asUsageError(spec.example));
    addFlags(command, spec);
    command.action(async () => {
      try {
        await run(command, spec, io);
      } catch (error) {
        if (error instanceof UsageError) {
          // With a wrong environment variable the example would fail too.
          const isEnvironment = NAMES_SETTING.test(error.message);
          error.example ??= isEnvironment ? `${pathOf(command)} --help` : spec.example;
        }
        throw error;
      }
    });
  };
}

/** Matches problems of the environment, which begin with the name of a setting. */
const NAMES_SETTING = new RegExp(
  `(^|; )(${SETTINGS.map(({ name }) => name).join("|")})\\b`,
);

/** The path of a command without the program's name, such as `org create`. */
function pathOf(command: Command): string {
  return command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/** Converts an error of the parser to a UsageError; `--help` passes through. */
export function asUsageError(example: string): (error: CommanderError) => never {
  return (error) => {
    if (error.exitCode === 0) throw error;
    // A group without a command; its help was printed on standard error.
    if (error.code === "commander.help") throw new UsageError("expected a command", example);
    throw new UsageError(error.message.replace(/^error: /, "").replaceAll("\n", " "), example);
  };
}

/** Adds arguments, options and help. */
function addFlags<Input extends InputSchema, Name extends CheckedSetting>(
  command: Command,
  { usesDatabase = true, settings = [], ...spec }: CommandSpec<Input, Name>,
): void {
  for (const [flags, meaning] of Object.entries(spec.arguments ?? {})) {
    command.argument(flags, meaning);
  }
  for (const [flags, meaning] of Object.entries(spec.options ?? {})) {
    const key = camelCase(flags.split(" ")[0]!.slice(2));
    const isRequired = spec.input.entries[key]?.type !== "optional";
    if (flags.includes("...")) command.option(flags.replace("...", ""), meaning, collect);
    else if (isRequired) command.requiredOption(flags, `${meaning} (required)`);
    else command.option(flags, meaning);
  }
  for (const described of settings.map(describeSetting)) {
    const { name, flag = "", default: standard } = described;
    command.option(flag, `${meaningHere(described)} (default: ${name}, or ${standard})`);
  }
  for (const [flags, meaning] of Object.entries(usesDatabase ? DATABASE_OPTIONS : {})) {
    command.option(flags, meaning);
  }
  command.option("--json", "print JSON");
  command.addHelpText(
    "after",
    commandHelp({
      details: spec.details ?? [],
      environment: [
        ...usesDatabase ? DATABASE_SETTINGS : [],
        ...settings,
        ...spec.environment ?? [],
        "TEST_ANALYTICS_DEBUG",
      ],
      exitCodes: spec.exitCodes ?? {},
      examples: [spec.example, ...spec.moreExamples ?? []],
    }),
  );
}

// A repeatable option takes one value each time: `--coverage a b.xml` has a report, b.xml.
function collect(value: string, previous: string[] | undefined): string[] {
  return [...previous ?? [], value];
}

async function run<Input extends InputSchema, Name extends CheckedSetting>(
  command: Command,
  { usesDatabase = true, createsDatabase = false, settings: names = [], ...spec }: CommandSpec<
    Input,
    Name
  >,
  io: CliIo,
): Promise<void> {
  // All problems are reported at once.
  const problems: string[] = [];
  const raw: Record<string, unknown> = command.opts();
  const shownNames = new Map<string, string>();
  for (const option of command.options) shownNames.set(option.attributeName(), option.long ?? "");
  command.registeredArguments.forEach((argument, index) => {
    const key = camelCase(argument.name());
    shownNames.set(key, argument.name().toUpperCase());
    raw[key] = command.processedArgs[index];
  });
  const own = v.safeParse(spec.input, raw);
  const shared = v.safeParse(SHARED, raw);
  for (const issue of [...own.issues ?? [], ...shared.issues ?? []]) {
    const name = shownNames.get(v.getDotPath(issue)?.split(".")[0] ?? "");
    problems.push(name ? `${name}: ${issue.message}` : issue.message);
  }
  const options = shared.success ? shared.output : { json: false };
  const { environment } = io;
  const database = databaseLocation(usesDatabase ? environment : {}, options, problems);
  const settings = readSettings(names, { environment, flags: command.opts(), problems });
  if (problems.length > 0) throw new UsageError(problems.join("; "));
  const { json } = options;
  const opened: Database[] = [];
  const context: CommandContext = {
    io,
    json,
    now: io.now(),
    database,
    async openDatabase() {
      const open = await io.openDatabase(database, { mayCreate: createsDatabase });
      opened.push(open);
      open.observeLockWaits(({ blockingPid, applicationName, state, statement }) =>
        context.note(
          `waiting for a lock of server process ${blockingPid} ` +
            `(${applicationName || "unnamed"}, ${state ?? "unknown state"}): ${statement}`,
        )
      );
      return open;
    },
    print: (plain, value) => io.stdout(`${json ? JSON.stringify(value) : oneLine(plain)}\n`),
    async printList(items, fields) {
      if (json) return await io.stdout(`${JSON.stringify(items)}\n`);
      const cells = Array.isArray(fields)
        ? (item: typeof items[0]) => fields.map((field) => item[field])
        : fields;
      await io.stdout(items.map((item) => `${plainLine(cells(item))}\n`).join(""));
    },
    note: (text) => io.stderr(`${oneLine(text)}\n`),
  };
  try {
    await spec.run(own.output as v.InferOutput<Input>, context, settings);
  } finally {
    for (const database of opened) await database.close();
  }
}

function databaseLocation(
  environment: Environment,
  options: { databaseUrl?: string | undefined; dataDir?: string | undefined },
  problems: string[],
): DatabaseLocation {
  const dataDir = options.dataDir ?? setting(environment, "DATA_DIR");
  if (options.databaseUrl !== undefined && options.dataDir !== undefined) {
    problems.push("--database-url and --data-dir: expected only one of them");
  }
  try {
    // --data-dir wins over DATABASE_URL of the environment.
    const databaseUrl = options.databaseUrl ??
      (options.dataDir === undefined ? readSecret(environment, "DATABASE_URL") : undefined);
    if (databaseUrl) readDatabaseUrl(databaseUrl);
    return { databaseUrl, dataDir };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    problems.push(error.message);
    return { databaseUrl: undefined, dataDir };
  }
}
