import { readFile, stat, writeFile } from "node:fs/promises";
import * as v from "valibot";
import { DURATION_UNITS } from "../../analysis/durations.ts";
import { ApiError } from "../../api_client/client.ts";
import { DEFAULT_API_URL, TOKEN_VARIABLE, URL_VARIABLE } from "../../api_client/api_settings.ts";
import { errorMessage, valueOr } from "../../base/error.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { oneLine } from "../../base/text.ts";
import { readWith } from "../../base/read_with.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp, parseTimestamp } from "../../base/time.ts";
import { runGit } from "../../intake/checkout/git.ts";
import { parsePatterns } from "../../query/submission_filter.ts";
import { NODE_SERVICES, splitNode } from "../../split/ci_nodes.ts";
import { describePlan } from "../../split/describe.ts";
import { formatShare, SPLIT_FORMATS } from "../../split/formats.ts";
import { distinctNames, shareByWeight, weigh } from "../../split/plan.ts";
import { fitPlan, readPlan, type SplitPlan, writePlan } from "../../split/plan_file.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { findCheckout } from "../gate_run/lookup.ts";
import {
  argument,
  location,
  oneOf,
  option,
  REPO_OF_JOB,
  type Values,
  wholeNumber,
} from "../parameters.ts";
import { timestamp } from "../../base/value_schemas.ts";
import { requestDurations } from "../split_durations.ts";

/** Far more than any service runs; a typing error would take minutes. */
const MAX_NODES = 10_000;

function patterns(parameter: string) {
  return v.optional(readWith((text) => (parsePatterns(text, parameter) ?? []).join()));
}

const INPUT = {
  files: argument(
    "files, classes or tests (default: lines of standard input; with --plan: the plan's)",
    v.array(v.string()),
  ),
  repo: REPO_OF_JOB,
  branch: option("<main,release/*>", "only runs of these branches", patterns("branch")),
  environment: option("<list>", "only runs of these environments", patterns("environment")),
  job: option("<list>", "only runs of these jobs", patterns("job")),
  nodes: option(
    "<n>",
    "number of nodes (default: from the CI job)",
    v.optional(wholeNumber({ min: 1, max: MAX_NODES })),
  ),
  index: option(
    "<n>",
    "this node, counted from 0 (default: from the CI job)",
    v.optional(wholeNumber({ min: 0, max: MAX_NODES - 1 })),
  ),
  by: option(
    "<unit>",
    "what is split: file (default), class or test",
    v.optional(oneOf(DURATION_UNITS), "file"),
  ),
  format: option(
    "<format>",
    `one per line (lines, default), or arguments of ${SPLIT_FORMATS.slice(1).join(", ")}`,
    v.optional(oneOf(SPLIT_FORMATS), "lines"),
  ),
  asOf: option(
    "<timestamp>",
    "moment whose durations count (default: time of the commit)",
    v.optional(timestamp),
  ),
  planOut: option(
    "<file>",
    "write the plan of all nodes; prints no share without --index",
    v.optional(location),
  ),
  plan: option("<file>", "take the share from this plan", v.optional(location)),
};

/** `split`: prints the tests that one of several nodes runs. */
export const splitCommand: AddCommand = command({
  name: "split",
  summary: "Print the test files of one of several nodes, which all take about the same time",
  example: "split --nodes 4 --index 0 cart_test.ts list_test.ts",
  moreExamples: [
    "split --nodes 4 --plan-out plan.json cart_test.ts list_test.ts",
    "split --plan plan.json --index 0 --format vitest",
  ],
  details: [
    "Every node makes the same plan of the same files: durations come from the median run before " +
    "the commit. New files count as the median. Each file is in exactly one share.",
    `Calls the API at ${URL_VARIABLE} (default: ${DEFAULT_API_URL}) with the token in ` +
    `${TOKEN_VARIABLE}. If that fails, the files are split by their size, and the exit code is 0.`,
    "In a shell, run `set -f` before the share is used: otherwise names such as [id].test.ts are " +
    "patterns, which may match other files.",
    "A node that fails to reach the service would compute a different plan. To rule that " +
    "out, make the plan in one job with --plan-out, and pass it to the nodes with --plan.",
    `Without --nodes and --index, the variables of ${NODE_SERVICES.join(", ")} are used.`,
  ],
  environment: ["PLATFORM_API_TOKEN", "PLATFORM_API_TOKEN_FILE", "PLATFORM_API_URL"],
  usesDatabase: false,
  input: INPUT,
  async run(options, context) {
    const { environment } = context.io;
    const { by, format, planOut, plan: planFile } = options;
    if (planOut !== undefined && planFile !== undefined) {
      throw new UsageError("--plan-out: expected without --plan");
    }
    // All that is wrong with the options, before anything is asked.
    const saved = planFile === undefined ? null : await openPlan(planFile);
    const node = asUsage(() => nodeOf(options, saved, environment));
    const given = await namesOf(options.files, saved, context);
    const names = distinctNames(given, saved?.by ?? by);
    const formatted = { format, by: saved?.by ?? by };
    asUsage(() => formatShare(names, formatted));
    const selectorOf = (name: string) => formatShare([name], formatted).trimEnd();
    const plan = saved ? fitPlan(saved, names, selectorOf) : await makePlan(names, {
      ...options,
      nodeCount: node.nodeCount,
      selectorOf,
      // Written to a file, it is the same for all nodes at any moment.
      mayBeNow: planOut !== undefined,
    }, context);
    checkSelectors(plan, { format, selectorOf });
    if (planOut !== undefined) await writeFile(planOut, writePlan(plan));
    for (const line of describePlan(plan, node.index)) context.note(`split: ${oneLine(line)}`);
    const own = node.index === null ? [] : plan.nodes[node.index]!.items.map(({ name }) => name);
    if (context.json) {
      const { repository, asOf: as_of, unit, nodes, newNames } = plan;
      const value = {
        repository,
        as_of,
        by: plan.by,
        unit,
        nodes: nodes.length,
        index: node.index,
        items: own,
        new_items: newNames,
        totals: nodes.map(({ total }) => total),
      };
      await context.io.stdout(`${JSON.stringify(value)}\n`);
    } else await context.io.stdout(formatShare(own, formatted));
  },
});

/** Turns an error about a value into one of usage. */
function asUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}

/** A plan that was made for another format may give one selector to two nodes, which both run all of it. */
function checkSelectors(
  { nodes }: SplitPlan,
  { format, selectorOf }: { format: string; selectorOf(name: string): string },
): void {
  const nodeOf = new Map<string, number>();
  for (const [node, { items }] of nodes.entries()) {
    for (const selector of items.map(({ name }) => selectorOf(name))) {
      if ((nodeOf.get(selector) ?? node) !== node) {
        throw new Failure(
          `the plan gives two nodes files of "${selector}": make the plan with --format ${format}, too`,
        );
      }
      nodeOf.set(selector, node);
    }
  }
}

/** The number of nodes, and this one; `null` for none, with `--plan-out`. */
function nodeOf(
  { nodes, index, planOut }: Values<typeof INPUT>,
  saved: SplitPlan | null,
  environment: CommandContext["io"]["environment"],
): { nodeCount: number; index: number | null } {
  if (planOut !== undefined && index === undefined && nodes !== undefined) {
    return { nodeCount: nodes, index: null };
  }
  const planned = saved?.nodes.length;
  const node = splitNode(
    { nodes: nodes ?? (index === undefined ? nodes : planned), index },
    environment,
  );
  if (planned === undefined || planned === node.nodeCount) return node;
  throw new RangeError(
    `the plan is for ${planned} nodes, but this job has ${node.nodeCount}: expected as many nodes as ` +
      "--plan-out was called with",
  );
}

async function openPlan(path: string): Promise<SplitPlan> {
  try {
    return readPlan(await readFile(path, "utf8"));
  } catch (error) {
    throw new Failure(
      `${path} ${
        error instanceof SyntaxError ? error.message : `cannot be read: ${errorMessage(error)}`
      }`,
    );
  }
}

async function namesOf(
  given: readonly string[],
  saved: SplitPlan | null,
  { io }: CommandContext,
): Promise<string[]> {
  if (given.length > 0) return [...given];
  if (saved) return saved.nodes.flatMap(({ items }) => items.map(({ name }) => name));
  if (!io.stdin && Deno.stdin.isTerminal()) {
    throw new UsageError(
      "missing FILES: expected files as arguments, or one per line on standard input",
    );
  }
  const text = await new Response(io.stdin ?? Deno.stdin.readable).text();
  const names = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== "");
  if (names.length > 0) return names;
  throw new UsageError(
    "found no FILES: expected files as arguments, or one per line on standard input",
  );
}

/** Makes a plan by durations, or else by size. */
async function makePlan(
  names: readonly string[],
  options: Values<typeof INPUT> & {
    nodeCount: number;
    mayBeNow: boolean;
    selectorOf(name: string): string;
  },
  context: CommandContext,
): Promise<SplitPlan & { newNames: string[] }> {
  const { by, nodeCount, selectorOf } = options;
  const { repository } = await findCheckout(context.io, options.repo);
  const moment = await momentOf(options, context);
  const asOf = formatTimestamp(moment ?? 0);
  const plan = { repository: repository ? formatRepositoryName(repository) : "", asOf, by };
  try {
    if (!repository) throw new Failure("the repository is unknown: expected --repo OWNER/NAME");
    if (moment === null) {
      throw new Failure(
        "found no commit here: expected --as-of with a moment that is the same on every node, or --plan",
      );
    }
    const request = { ...options, repository, asOf };
    const durations = await requestDurations(names, request, context.io.environment);
    const items = names.map((name) => ({ name, weight: durations.get(name) ?? null }));
    const newNames = names.filter((name) => !durations.has(name));
    const nodes = shareByWeight(weigh(items), nodeCount, { selectorOf });
    return { ...plan, unit: "microseconds", nodes, newNames };
  } catch (error) {
    const problem = error instanceof ApiError ? error.problem : errorMessage(error);
    const items = await Promise.all(
      names.map(async (name) => ({ name, weight: await sizeOf(name) })),
    );
    const hasSizes = items.some(({ weight }) => weight !== null);
    context.note(
      `split: by ${hasSizes ? "size" : "number"}, without durations: ${oneLine(problem)} ` +
        "(nodes with durations compute a different plan: see --plan)",
    );
    const unit = hasSizes ? "bytes" : "number";
    return {
      ...plan,
      unit,
      nodes: shareByWeight(weigh(items), nodeCount, { selectorOf }),
      newNames: [],
    };
  }
}

/** Bytes of a file; `null` when there is none, as for a class. */
async function sizeOf(path: string): Promise<number | null> {
  try {
    const info = await stat(path);
    return info.isFile() ? info.size : null;
  } catch {
    return null;
  }
}

/** The moment whose durations count: the time of the commit, the same on every node; `null` without one. */
async function momentOf(
  { asOf, mayBeNow }: { asOf: number | undefined; mayBeNow: boolean },
  { io }: CommandContext,
): Promise<number | null> {
  if (asOf !== undefined) return asOf;
  const { git = runGit, environment } = io;
  const committed = await git(["show", "--no-patch", "--format=%ct", "HEAD"]);
  if (/^\d{1,11}$/.test(committed)) return Number(committed);
  const otherwise = mayBeNow ? io.now() : null;
  return valueOr(() => parseTimestamp(environment.CI_COMMIT_TIMESTAMP ?? ""), otherwise);
}
