/** How a command is described, how its input is validated, and the context it runs in. */
import type { Command, CommanderError } from "commander";
import * as v from "valibot";
import type { Database } from "../../db/connection/connect.ts";
import { readDatabaseUrl } from "../../db/connection/database_url.ts";
import type { Git } from "./intake/ci/mod.ts";
import {
  describeSetting,
  type Environment,
  meaningHere,
  setting,
  type SettingName,
  SETTINGS,
} from "../base/config.ts";
import { UsageError } from "./errors.ts";
import { commandHelp, type EXIT } from "./help.ts";
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
  /** Prints a list: tab-separated lines without a header, or with `--json` an array. */
  printList<T>(items: T[], cells: (item: T) => Cell[]): Promise<void>;
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
  exitCodes?: Partial<Record<keyof typeof EXIT, string>>;
  /** Each argument and option is a key of `input`, in camel case. */
  arguments?: Flags;
  options?: Flags;
  /** False for a command that opens no database, or one of its own. */
  usesDatabase?: boolean;
  /**
   * True when the command creates the embedded database where there is none. Others fail instead, so
   * that a typing error leaves no folder behind.
   */
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

/** The schema of an object. */
type InputSchema = v.GenericSchema & { readonly entries: v.ObjectEntries };

const DATABASE_OPTIONS: Flags = {
  "--database-url <url>": "PostgreSQL server (passwords are safer in DATABASE_URL)",
  "--data-dir <folder>": "folder of the embedded database",
};

const DATABASE_SETTINGS = ["DATABASE_URL", "DATABASE_URL_FILE", "DATA_DIR"] as const;

const OPTION_SCHEMAS = {
  json: v.optional(v.boolean(), false),
  databaseUrl: v.optional(location),
  dataDir: v.optional(location),
};

interface SharedOptions {
  json: boolean;
  databaseUrl?: string | undefined;
  dataDir?: string | undefined;
}

/** Adds a command, or a group of them, to the program. */
export type AddCommand = (program: Command, io: CliIo) => void;

/** Defines a command. */
export function command<Input extends InputSchema, Name extends CheckedSetting = never>(
  spec: CommandSpec<Input, Name>,
): AddCommand {
  return (parent, io) => add(parent, io, spec);
}

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

function add<Input extends InputSchema, Name extends CheckedSetting>(
  parent: Command,
  io: CliIo,
  spec: CommandSpec<Input, Name>,
): void {
  const command = parent.command(spec.name).description(spec.summary);
  for (const [flags, meaning] of Object.entries(spec.arguments ?? {})) {
    command.argument(flags, meaning);
  }
  const usesDatabase = spec.usesDatabase ?? true;
  for (const [flags, meaning] of Object.entries(spec.options ?? {})) {
    if (flags.includes("...")) command.option(flags.replace("...", ""), meaning, collect);
    else if (isRequired(spec.input, flags)) command.requiredOption(flags, `${meaning} (required)`);
    else command.option(flags, meaning);
  }
  for (const name of spec.settings ?? []) addSettingOption(command, name);
  if (usesDatabase) {
    for (const [flags, meaning] of Object.entries(DATABASE_OPTIONS)) command.option(flags, meaning);
  }
  command.option("--json", "print JSON");
  command.addHelpText(
    "after",
    commandHelp({
      details: spec.details ?? [],
      environment: [
        ...usesDatabase ? DATABASE_SETTINGS : [],
        ...spec.settings ?? [],
        ...spec.environment ?? [],
        "TEST_ANALYTICS_DEBUG",
      ],
      exitCodes: spec.exitCodes ?? {},
      examples: [spec.example, ...spec.moreExamples ?? []],
    }),
  );
  command.exitOverride(asUsageError(spec.example));
  command.action(async () => {
    try {
      // All problems are reported at once.
      const problems: string[] = [];
      const { input, options } = checkInput(command, spec, problems);
      const { environment } = io;
      const location = databaseLocation(usesDatabase ? environment : {}, { options, problems });
      const flags = command.opts();
      const settings = readSettings(spec.settings ?? [], { environment, flags, problems });
      if (problems.length > 0) throw new UsageError(problems.join("; "));
      const context = makeContext(
        io,
        { ...options, mayCreate: spec.createsDatabase ?? false },
        location,
      );
      try {
        await spec.run(input, context, settings);
      } finally {
        await context.close();
      }
    } catch (error) {
      if (error instanceof UsageError) {
        // With a wrong environment variable the example would fail too.
        const isEnvironment = NAMES_SETTING.test(error.message);
        error.example ??= isEnvironment ? `${pathOf(command)} --help` : spec.example;
      }
      throw error;
    }
  });
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

// A repeatable option takes one value each time: `--coverage a b.xml` has a report, b.xml.
function collect(value: string, previous: string[] | undefined): string[] {
  return [...previous ?? [], value];
}

/** True when the schema has no default for the option. */
function isRequired({ entries }: InputSchema, flags: string): boolean {
  const [flag = ""] = flags.split(" ");
  return entries[camelCase(flag.slice(2))]?.type !== "optional";
}

function checkInput<Input extends v.GenericSchema>(
  command: Command,
  spec: { input: Input },
  problems: string[],
): { input: v.InferOutput<Input>; options: SharedOptions } {
  const names = new Map<string, string>();
  const raw: Record<string, unknown> = command.opts();
  for (const option of command.options) names.set(option.attributeName(), option.long ?? "");
  command.registeredArguments.forEach((argument, index) => {
    const key = camelCase(argument.name());
    names.set(key, argument.name().toUpperCase());
    raw[key] = command.processedArgs[index];
  });
  const own = v.safeParse(spec.input, raw);
  const shared = v.safeParse(v.object(OPTION_SCHEMAS), raw);
  const issues: v.BaseIssue<unknown>[] = [...own.issues ?? [], ...shared.issues ?? []];
  for (const issue of issues) {
    const name = names.get(v.getDotPath(issue)?.split(".")[0] ?? "");
    problems.push(name ? `${name}: ${issue.message}` : issue.message);
  }
  // The output is not used when there is a problem.
  return {
    input: own.output as v.InferOutput<Input>,
    options: shared.success ? shared.output : { json: false },
  };
}

function makeContext(
  io: CliIo,
  { json, mayCreate }: { json: boolean; mayCreate: boolean },
  location: DatabaseLocation,
): CommandContext & { close(): Promise<void> } {
  const opened: Database[] = [];
  return {
    io,
    json,
    now: io.now(),
    database: location,
    async openDatabase() {
      const database = await io.openDatabase(location, { mayCreate });
      opened.push(database);
      return database;
    },
    print: (plain, value) => io.stdout(json ? `${JSON.stringify(value)}\n` : `${oneLine(plain)}\n`),
    printList: (items, cells) =>
      io.stdout(
        json
          ? `${JSON.stringify(items)}\n`
          : items.map((item) => `${plainLine(cells(item))}\n`).join(""),
      ),
    note: (text) => io.stderr(`${oneLine(text)}\n`),
    close: async () => {
      for (const database of opened) await database.close();
    },
  };
}

function databaseLocation(
  environment: Environment,
  { options, problems }: { options: SharedOptions; problems: string[] },
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

function addSettingOption(command: Command, name: CheckedSetting): void {
  const described = describeSetting(name);
  const holds = `${name}, or ${described.default}`;
  command.option(described.flag ?? "", `${meaningHere(described)} (default: ${holds})`);
}
