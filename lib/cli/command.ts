// Tests: tests/lib/cli/commands/backup_test.ts tests/lib/cli/commands/comment_test.ts
/** Commands: their definition, and the context they run in. */
import { type Command, type CommanderError, Option } from "commander";
import type { Change, Origin } from "../../db/admin/changes.ts";
import type { Database } from "../../db/connection/connect.ts";
import type { Queryable } from "../../db/connection/sql.ts";
import {
  describeSetting,
  kebabCase,
  meaningWithoutCommands,
  type SettingName,
} from "../base/config.ts";
import { authorOf } from "./author.ts";
import { UsageError } from "../base/failure.ts";
import { commandHelp, type ExitCodes } from "./help.ts";
import type { CliIo } from "./io.ts";
import { type ListColumn, listTable, plainLines } from "./output.ts";
import { oneLine } from "../base/text.ts";
import { isBlank, isRequired, type Parameters, readInput, type Values } from "./parameters.ts";
import {
  type CheckedSetting,
  DATABASE_OPTIONS,
  DATABASE_SETTINGS,
  type DatabaseLocation,
  readDatabaseLocation,
  readSettings,
  type SettingValues,
} from "./settings.ts";

export interface CommandContext {
  io: CliIo;
  json: boolean;
  /** When the command started, in seconds since 1970. */
  now: number;
  /** Arguments after `--`; `null` without it. */
  afterDashes: string[] | null;
  /** From the options or the environment. */
  database: DatabaseLocation;
  /** Opens the database with a current schema; it is closed when the command ends. */
  openDatabase(): Promise<Database>;
  /** Prints the result: a line of text, or with `--json` a JSON value. */
  print(plain: string, value: unknown): Promise<void>;
  /**
   * Prints a list: tab-separated lines of these columns, all fields unless given, without a header;
   * on a terminal a table, where fewer columns may fit; with `--json` an array.
   */
  printList<Item extends object>(
    items: Item[],
    columns?: readonly ListColumn<Item>[],
    onTerminal?: readonly ListColumn<Item>[],
  ): Promise<void>;
  /** Prints a line on standard error. */
  note(text: string): void;
  /** The author and the command of a change, for the log of an organization. */
  origin(): Origin;
  /** Adds a change by this command to the log of an organization, in the transaction that makes it. */
  logChange(tx: Queryable, change: LoggedChange): Promise<void>;
}

/** A change, without the fields that the context adds. */
export type LoggedChange = Pick<Change, "subject"> & Partial<Pick<Change, "detail">> & {
  organizationId: number;
};

interface CommandSpec<Input extends Parameters, Name extends CheckedSetting> {
  name: string;
  summary: string;
  /** A valid command without the program's name: shown by `--help` and after a usage error. */
  example: string;
  moreExamples?: string[];
  details?: string[];
  /** False for a command that opens no database, or one of its own. */
  usesDatabase?: boolean;
  /** Creates a missing embedded database. Others fail: a typing error must not leave a folder behind. */
  createsDatabase?: boolean;
  /** Arguments and options, validated before anything is opened or written. */
  input: Input;
  /** Settings that the command reads from options and the environment. */
  settings?: readonly Name[];
  /** Left out of the list of commands: only for organizations that moved from the earlier service. */
  isHidden?: boolean;
  /** Where they differ from other commands. */
  exitCodes?: ExitCodes;
  /** Other environment variables that it reads. */
  environment?: readonly SettingName[];
  run(input: Values<Input>, context: CommandContext, settings: SettingValues<Name>): Promise<void>;
}

/** Adds a command, or a group of them, to the program. */
export type AddCommand = (program: Command, io: CliIo, argv?: readonly string[]) => void;

/** Defines a group of commands, such as `org`. */
export function group({ name, summary, example, commands }: {
  name: string;
  summary: string;
  example: string;
  commands: readonly AddCommand[];
}): AddCommand {
  return (parent, io, argv = []) => {
    const group = parent.command(name).description(summary).enablePositionalOptions()
      .exitOverride(asUsageError(example));
    for (const add of commands) add(group, io, argv);
  };
}

/** Defines a command. */
export function command<Input extends Parameters, Name extends CheckedSetting = never>(
  spec: CommandSpec<Input, Name>,
): AddCommand {
  return (parent, io, argv = []) => {
    const { isHidden: hidden = false } = spec;
    const command = parent.command(spec.name, { hidden }).summary(spec.summary)
      .description([spec.summary, ...spec.details ?? []].join("\n\n"))
      .exitOverride(asUsageError(spec.example));
    addFlags(command, spec);
    command.action(async () => {
      try {
        await run(command, spec, io, argv);
      } catch (error) {
        if (error instanceof UsageError) {
          // The example would fail too: with a wrong environment variable, and where `--org` is missing in both.
          const isHelp = /(^|; )(HOST|PORT|[A-Z]+(_[A-Z]+)+)\b/.test(error.message) ||
            error.message.startsWith("missing option '--org") && !spec.example.includes("--org");
          error.example ??= isHelp ? `${pathOf(command)} --help` : spec.example;
        }
        throw error;
      }
    });
  };
}

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
function addFlags<Input extends Parameters, Name extends CheckedSetting>(
  command: Command,
  { usesDatabase = true, settings = [], ...spec }: CommandSpec<Input, Name>,
): void {
  const parameters = { ...spec.input, ...usesDatabase && DATABASE_OPTIONS };
  for (const [name, parameter] of Object.entries(parameters)) {
    const { kind, value, meaning, schema, isHidden = false } = parameter;
    if (kind === "argument") {
      const shown = kebabCase(name);
      command.argument(
        schema.type === "array"
          ? `[${shown}...]`
          : isRequired(schema)
          ? `<${shown}>`
          : `[${shown}]`,
        meaning,
      );
    } else if (value.includes("...")) {
      command.option(`--${kebabCase(name)} ${value.replace("...", "")}`, meaning, collect);
    } else {
      const flags = `--${kebabCase(name)} ${value}`.trimEnd();
      // Its absence is reported with all other problems, after an unknown option.
      const text = isRequired(schema) ? `${meaning} (required)` : meaning;
      command.addOption(new Option(flags, text).hideHelp(isHidden));
    }
  }
  for (const described of settings.map(describeSetting)) {
    const { name, flag = "", default: standard } = described;
    const otherwise = standard === "" ? name : `${name}, or ${standard}`;
    command.option(flag, `${meaningWithoutCommands(described)} (default: ${otherwise})`);
  }
  command.option("--json", "print JSON");
  command.addHelpText(
    "after",
    commandHelp(
      [
        ...usesDatabase ? DATABASE_SETTINGS : [],
        ...settings,
        ...spec.environment ?? [],
        "TEST_ANALYTICS_DEBUG",
      ],
      [spec.example, ...spec.moreExamples ?? []],
      spec.exitCodes,
    ),
  );
}

// A repeatable option takes one value each time: in `--coverage a b.xml`, b.xml is a report. An empty
// one, as of an unset shell variable, counts as absent.
function collect(value: string, previous: string[] = []): string[] {
  return isBlank(value) ? previous : [...previous, value];
}

async function run<Input extends Parameters, Name extends CheckedSetting>(
  command: Command,
  { usesDatabase = true, createsDatabase = false, settings: names = [], ...spec }: CommandSpec<
    Input,
    Name
  >,
  io: CliIo,
  argv: readonly string[],
): Promise<void> {
  // All problems are reported at once.
  const problems: string[] = [];
  const flags: Record<string, unknown> = command.opts();
  const input = readInput(spec.input, { flags, given: command.processedArgs, problems });
  const { environment } = io;
  const database = await readDatabaseLocation(usesDatabase ? environment : {}, flags, problems);
  const settings = readSettings(names, { environment, flags, problems });
  if (problems.length > 0) throw new UsageError(problems.join("; "));
  const json = flags.json === true;
  const opened: Database[] = [];
  const context: CommandContext = {
    io,
    json,
    now: io.now(),
    afterDashes: argv.includes("--") ? argv.slice(argv.indexOf("--") + 1) : null,
    database,
    async openDatabase() {
      const { org: organization } = input as { org?: unknown };
      const options = {
        mayCreate: createsDatabase,
        organization,
        // It takes seconds, in which nothing else is seen.
        onCreate: () => context.note(`creating a database in "${database.dataDir}" (DATA_DIR)`),
      };
      const open = await io.openDatabase(database, options);
      opened.push(open);
      return open;
    },
    print: (plain, value) => io.stdout(`${json ? JSON.stringify(value) : oneLine(plain)}\n`),
    async printList(items, columns, onTerminal = columns) {
      if (json) return await io.stdout(`${JSON.stringify(items)}\n`);
      const { columns: width } = io;
      const lines = width === undefined
        ? plainLines(items, columns)
        : listTable(items, onTerminal, width);
      await io.stdout(lines.map((line) => `${line}\n`).join(""));
      if (items.length === 0 && width !== undefined) io.stderr("nothing to list\n");
    },
    note: (text) => io.stderr(`${oneLine(text)}\n`),
    origin: () => ({ author: authorOf(environment), command: pathOf(command) }),
    async logChange(tx, change) {
      // Loaded by what changes something: other commands need nothing of the database.
      const { insertChange } = await import("../../db/admin/changes.ts");
      const entry = { changedAt: io.now(), detail: {}, ...context.origin() };
      await insertChange(tx, { ...entry, ...change });
    },
  };
  try {
    await spec.run(input, context, settings);
  } finally {
    for (const database of opened) await database.close();
  }
}
