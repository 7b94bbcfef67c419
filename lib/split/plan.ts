/** Distributes test files over the nodes of a CI run so that all take about the same time. */

import { normalize } from "node:path";
import type { DurationUnit } from "../analysis/durations.ts";
import { compareTexts } from "../base/text.ts";

/** What is distributed: a file, class or test. */
export interface SplitItem {
  /** As the runner takes it. */
  name: string;
  /** Expected duration, or any other weight such as a size; `null` when unknown. */
  weight: number | null;
}

/** An item with the weight that the plan assumes. */
export interface WeighedItem {
  name: string;
  weight: number;
}

/** The share of one node. */
export interface Share {
  /** In order of their names. */
  items: readonly WeighedItem[];
  /** Sum of the weights. */
  total: number;
}

/** What names an item in any spelling: `./a.ts` and `a.ts` are one file. */
export function itemKey(name: string, by: DurationUnit): string {
  return by === "file" ? normalize(name) : name;
}

/** The names of distinct items, each in its first spelling by the order of names. */
export function distinctNames(names: readonly string[], by: DurationUnit): string[] {
  const byKey = new Map<string, string>();
  for (const name of names.toSorted(compareTexts)) {
    const key = itemKey(name, by);
    if (!byKey.has(key)) byKey.set(key, name);
  }
  return [...byKey.values()];
}

/** Items by name, each once, in order of their names; unknown weights become the median of the others. */
export function weigh(items: Iterable<SplitItem>): WeighedItem[] {
  const weights = new Map<string, number | null>();
  for (const { name, weight } of items) weights.set(name, weights.get(name) ?? weight);
  const known = [...weights.values()].filter((weight) => weight !== null);
  const assumed = median(known);
  return [...weights].map(([name, weight]) => ({ name, weight: weight ?? assumed }))
    .sort((a, b) => compareTexts(a.name, b.name));
}

/** The lower median of numbers, 0 of none. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[(numbers.length - 1) >> 1] ?? 0;
}

/**
 * Shares of about equal weight, each item in exactly one. The same items give the same shares in any
 * order.
 *
 * Longest processing time first: each item goes to the node with the least so far. No share is more than
 * 4/3 of the best that is possible (Graham 1969); of many files it is within a few per cent. Items without
 * weight are distributed by number.
 *
 * @param options.kept shares that items are added to, of an earlier plan
 * @param options.selectorOf how the runner selects an item: those of one selector are in one share
 */
export function shareByWeight(
  items: readonly WeighedItem[],
  nodeCount: number,
  { kept = [], selectorOf = (name) => name }: {
    kept?: readonly Share[];
    selectorOf?: (name: string) => string;
  } = {},
): Share[] {
  const nodes = Array.from({ length: nodeCount }, (_, node) => ({
    items: [...kept[node]?.items ?? []],
    total: kept[node]?.total ?? 0,
  }));
  const nodeOf = new Map(
    nodes.flatMap((node) => node.items.map(({ name }) => [selectorOf(name), node])),
  );
  const bySelector = Map.groupBy(items, ({ name }) => selectorOf(name));
  const longestFirst = Array.from(bySelector, ([selector, own]) => ({
    selector,
    own,
    weight: own.reduce((sum, { weight }) => sum + weight, 0),
  })).sort((a, b) => b.weight - a.weight || compareTexts(a.selector, b.selector));
  for (const { selector, own, weight } of longestFirst) {
    let least = nodes[0]!;
    for (const node of nodes) {
      const isLess = node.total - least.total || node.items.length - least.items.length;
      if (isLess < 0) least = node;
    }
    const node = nodeOf.get(selector) ?? least;
    node.items.push(...own);
    node.total += weight;
  }
  for (const node of nodes) node.items.sort((a, b) => compareTexts(a.name, b.name));
  return nodes;
}

/** Shares of an equal number of items, as runners make them without durations: in turns, by name. */
export function shareByNumber(items: readonly WeighedItem[], nodeCount: number): Share[] {
  const sorted = items.toSorted((a, b) => compareTexts(a.name, b.name));
  return Array.from({ length: nodeCount }, (_, node) => {
    const own = sorted.filter((_item, index) => index % nodeCount === node);
    return { items: own, total: own.reduce((sum, { weight }) => sum + weight, 0) };
  });
}

/** Trying more takes seconds. */
const MAX_USEFUL_NODES = 500;

/**
 * The number of nodes from which on more of them make nothing faster: with it, the longest item alone
 * takes as long as any other node. `null` for items without weight, and for very many nodes.
 */
export function usefulNodeCount(
  items: readonly WeighedItem[],
): { nodeCount: number; longest: WeighedItem } | null {
  const [longest] = items.toSorted((a, b) => b.weight - a.weight || compareTexts(a.name, b.name));
  if (!longest || longest.weight === 0) return null;
  const total = items.reduce((sum, { weight }) => sum + weight, 0);
  let nodeCount = Math.max(1, Math.ceil(total / longest.weight));
  if (nodeCount > MAX_USEFUL_NODES) return null;
  while (longestTotal(shareByWeight(items, nodeCount)) > longest.weight) nodeCount++;
  return { nodeCount, longest };
}

/** Weight of the heaviest share. */
export function longestTotal(shares: readonly Share[]): number {
  return shares.reduce((longest, { total }) => Math.max(longest, total), 0);
}
