/**
 * What all commands share: how one is described, how its input is checked before anything is
 * opened, and what it is given to work with.
 */
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
import { readSecret } from "./secret_file.ts";
import { type CheckedSetting, readSettings, type SettingValues } from "./settings.ts";
import { location } from "./values.ts";

/** The program's surroundings; tests pass their own. */
export interface CliIo {
  /** Writes data, whole. A reader that went away is no error. */
  stdout(text: string): Promise<void>;
  /** Writes to people. */
  stderr(text: string): void;
  environment: Environment;
  /** Seconds since 1970. */
  now(): number;
  /** True when a person watches standard error, so that progress is worth showing. */
  stderrIsTerminal: boolean;
  /** Aborted by the first signal to stop (SIGTERM, SIGINT). */
  stop: AbortSignal;
  /** Aborted by the second. */
  stopAtOnce: AbortSignal;
  /** Asks git about the checkout that the program was started in; the real one unless given. */
  git?: Git;
  /** Opens a database for a command; the real one brings its schema up to date. */
  openDatabase(location: DatabaseLocation, options: { mayCreate: boolean }): Promise<Database>;
}

/** What a command works with. */
export interface CommandContext {
  io: CliIo;
  json: boolean;
  /** Seconds since 1970 of the moment when the command began. */
  now: number;
  /** Where the database is, by flag or environment. */
  database: DatabaseLocation;
  /** Opens the database, its schema up to date; it is closed when the command ends. */
  openDatabase(): Promise<Database>;
  /** Writes the one thing that came out: a line of text, or with `--json` a JSON value. */
  print(plain: string, value: unknown): Promise<void>;
  /** Writes a list: tab-separated lines without a header, or with `--json` an array. */
  printList<T>(items: T[], cells: (item: T) => Cell[]): Promise<void>;
  /** Tells people something, on a line of standard error. */
  note(text: string): void;
}

/** Where the data is: a server when there is a URL, else the embedded database in the folder. */
export interface DatabaseLocation {
  databaseUrl: string | undefined;
  dataDir: string;
}

/** An option or argument: its flags (`--org <name>`, `<test-id>`) and what it means. */
export interface Flag {
  flags: string;
  meaning: string;
  required?: boolean;
}

/** A command as its file describes it. */
export interface CommandSpec<Input extends v.GenericSchema, Name extends CheckedSetting = never> {
  name: string;
  summary: string;
  /** A command that works, without the program's name: shown by `--help` and after a wrong use. */
  example: string;
  /** More of them, shown by `--help`. */
  moreExamples?: string[];
  /** Paragraphs that `--help` shows. */
  details?: string[];
  /** What an exit code means here, where it is more than usual. */
  exitCodes?: Partial<Record<keyof typeof EXIT, string>>;
  /** In order. Each is a key of `input`, in camel case. */
  arguments?: Flag[];
  options?: Flag[];
  /** False for a command that opens no database, or one of its own. */
  usesDatabase?: boolean;
  /**
   * True when the command creates the embedded database where there is none. Others fail instead, so
   * that a typing error leaves no folder behind.
   */
  createsDatabase?: boolean;
  /** Checks arguments and options together; runs before anything is opened or written. */
  input: Input;
  /** Settings that this command takes as options and from the environment. */
  settings?: readonly Name[];
  /** Other variables that it looks at. */
  environment?: readonly SettingName[];
  run(
    input: v.InferOutput<Input>,
    context: CommandContext,
    settings: SettingValues<Name>,
  ): Promise<void>;
}

const DATABASE_OPTIONS: Flag[] = [
  {
    flags: "--database-url <url>",
    meaning: "PostgreSQL server (a password is safer in DATABASE_URL)",
  },
  { flags: "--data-dir <folder>", meaning: "folder of the embedded database" },
];

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

/** Adds a command to the program, or to a group such as `org`. */
export function addCommand<Input extends v.GenericSchema, Name extends CheckedSetting = never>(
  parent: Command,
  io: CliIo,
  spec: CommandSpec<Input, Name>,
): void {
  const command = parent.command(spec.name).description(spec.summary);
  for (const { flags, meaning } of spec.arguments ?? []) command.argument(flags, meaning);
  const usesDatabase = spec.usesDatabase ?? true;
  const options = [
    ...spec.options ?? [],
    ...(spec.settings ?? []).map(optionOfSetting),
    ...usesDatabase ? DATABASE_OPTIONS : [],
  ];
  for (const { flags, meaning, required } of options) {
    if (required) command.requiredOption(flags, `${meaning} (required)`);
    else if (flags.includes("...")) command.option(flags.replace("...", ""), meaning, collect);
    else command.option(flags, meaning);
  }
  command.option("--json", "one JSON value instead of plain lines");
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
    // Caught here, because here it is known which command is meant.
    try {
      // Whatever is wrong is told at once, so that nobody mends one thing after the other.
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
        // Where the environment is wrong, the example would fail the same way.
        const isEnvironment = NAMES_SETTING.test(error.message);
        error.example ??= isEnvironment ? `${pathOf(command)} --help` : spec.example;
      }
      throw error;
    }
  });
}

/** Finds complaints about the environment: they begin with the name of a setting. */
const NAMES_SETTING = new RegExp(
  `(^|; )(${SETTINGS.map(({ name }) => name).join("|")})\\b`,
);

/** How a command is called, without the program's name: `org create`. */
function pathOf(command: Command): string {
  return command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/** Adds a group of commands, such as `org`. */
export function addGroup(parent: Command, { name, summary, example }: {
  name: string;
  summary: string;
  example: string;
}): Command {
  return parent.command(name).description(summary).enablePositionalOptions()
    .exitOverride(asUsageError(example));
}

/** Turns what the parser complains of into a UsageError, and lets `--help` pass. */
export function asUsageError(example: string): (error: CommanderError) => never {
  return (error) => {
    if (error.exitCode === 0) throw error;
    // A group without a command: its help was shown, on standard error.
    if (error.code === "commander.help") throw new UsageError("expected a command", example);
    throw new UsageError(error.message.replace(/^error: /, "").replaceAll("\n", " "), example);
  };
}

// An option that may be given several times takes one value each time, so that `--coverage a b.xml`
// does not swallow the report.
function collect(value: string, previous: string[] | undefined): string[] {
  return [...previous ?? [], value];
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
    const key = argument.name().replaceAll(/-./g, (dash) => dash.slice(1).toUpperCase());
    names.set(key, argument.name().toUpperCase());
    raw[key] = command.processedArgs[index];
  });
  // The options of every command are checked with the command's own, and all are told at once.
  const own = v.safeParse(spec.input, raw);
  const shared = v.safeParse(v.object(OPTION_SCHEMAS), raw);
  const issues: v.BaseIssue<unknown>[] = [...own.issues ?? [], ...shared.issues ?? []];
  for (const issue of issues) {
    const name = names.get(v.getDotPath(issue)?.split(".")[0] ?? "");
    problems.push(name ? `${name}: ${issue.message}` : issue.message);
  }
  // With a problem nothing is run, so nobody sees what could not be read.
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
    problems.push("--database-url and --data-dir: expected one of them");
  }
  try {
    // A folder given as a flag wins over a server given by the environment.
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

function optionOfSetting(name: CheckedSetting): Flag {
  const described = describeSetting(name);
  const holds = `${name}, or ${described.default}`;
  return { flags: described.flag ?? "", meaning: `${meaningHere(described)} (default: ${holds})` };
}
