// Tests: tests/lib/ci/ci_test.ts tests/lib/ci/services_test.ts
/** The values of a matrix: an environment, except for those that number shards. */
import { valueOr } from "../base/error.ts";

const INDEX_NAMES = /^(?:shard|shard_?index|ci_node_index|node_?index)$/i;
const TOTAL_NAMES = /^(?:shards|shard_?(?:total|count)|total_?shards|ci_node_total|node_?total)$/i;

/** @param text JSON, such as `{"os":"ubuntu","node":20,"shard":"1/4"}` */
export function readMatrix(text: string): { values: string; shard: string } {
  const none = { values: "", shard: "" };
  const matrix: unknown = valueOr(() => JSON.parse(text), null);
  if (typeof matrix !== "object" || matrix === null || Array.isArray(matrix)) return none;
  const entries = Object.entries(matrix).map(([key, value]) =>
    [key.replaceAll("-", "_"), value] as const
  );
  const found = (names: RegExp) =>
    entries.find(([key, value]) => names.test(key) && /^[\d/]+$/.test(String(value)));
  const index = found(INDEX_NAMES);
  const total = found(TOTAL_NAMES);
  const values = entries.filter((entry) => entry !== index && (entry !== total || !index))
    .flatMap(([key, value]) => textsOf(key, value));
  return { values: values.join(" "), shard: index ? shardOf(index, total?.[1]) : "" };
}

function shardOf([key, value]: readonly [string, unknown], total: unknown): string {
  // Tools that read CI_NODE_INDEX count from 0.
  const index = /node_?index$/i.test(key) ? String(Number(value) + 1) : String(value);
  return total === undefined || index.includes("/") ? index : `${index}/${total}`;
}

function textsOf(key: string, value: unknown): string[] {
  if (value === null || value === "") return [];
  if (typeof value === "boolean") return [withoutControls(`${key}=${value}`)];
  if (typeof value !== "object") return [withoutControls(String(value))];
  return Object.entries(value as object).flatMap(([inner, value]) =>
    textsOf(Array.isArray(value) ? key : inner, value)
  );
}

/** JSON can hide them from the reader of the lines; an environment is one line of text. */
function withoutControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").toWellFormed();
}
