/**
 * Random requests, some of them plausible: from the OpenAPI document and from nonsense. Each depends
 * only on the seed and its number, so that it can be repeated.
 */
import type { Operation, ParameterObject } from "./contract.ts";
import { nonsense } from "./random_nonsense.ts";
import { createRandom, type Random } from "./random_numbers.ts";

/** A request as it goes over the wire, characters above U+00FF as UTF-8. */
export interface RandomRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: [name: string, value: string][];
}

/** What exists, for requests that find something. */
export interface Existing {
  token: string;
  testIds: string[];
  submissionIds: string[];
  repositoryIds: number[];
  organizationIds: string[];
  /** Entity tags of earlier responses. */
  etags: string[];
}

const OWNERS = ["acme", "ACME", "group%2Fsub", "group%2fSUB", "none"];

const NAMES = ["shop", "Shop", "empty", "twin", "none"];

const REPOSITORIES = ["shop", "acme/shop", "ACME/Shop", "empty", "twin", "group/sub/twin", "none"];

const QUERIES = [
  "ünit",
  "ÜNIT 3",
  "first-seen:>=2026-01-01",
  "last-seen:<2030-01-01",
  "first-seen:2026-09-21",
  "tags:nightly,mail",
  "tags:MAIL",
  "last-seen:>2026-02-30",
  "tags:",
  "a:b %_\\",
];

const METHODS = [
  ...[
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "PROPFIND",
    "QUERY",
    "get",
    "Head",
    "X-Y!#$%&'*",
  ],
];

/** Creates the request with a number. */
export function randomRequest(
  operations: readonly Operation[],
  existing: Existing,
  { seed, number }: { seed: number; number: number },
): RandomRequest {
  const random = createRandom(seed, number);
  const method = random.pick([
    [16, () => "GET"],
    [2, () => "HEAD"],
    [1, () => random.one(METHODS)],
  ]);
  const target = random.pick([
    [16, () => operationTarget(random, { operation: random.one(operations), existing })],
    [3, () => oddTarget(random, { operation: random.one(operations), existing })],
    [1, () => `/${nonsense(random)}`],
  ]);
  // Without a leading slash it would be part of the host name.
  return {
    method,
    target: target.startsWith("/") ? target : `/${target}`,
    headers: headersOf(random, existing),
  };
}

function operationTarget(
  random: Random,
  { operation, existing }: { operation: Operation; existing: Existing },
): string {
  const parts: Record<string, () => string> = {
    owner: () => random.one(OWNERS),
    name: () => random.one(NAMES),
    id: () => random.one([...existing.testIds, ...existing.submissionIds]),
  };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    random.pick([
      [6, () => parts[name]?.() ?? "x"],
      [1, () => encoded(random, nonsense(random))],
    ]));
  const query = operation.parameters.filter((parameter) => parameter.in === "query")
    .flatMap((parameter) => assignments(random, { parameter, existing }));
  if (random.chance(0.1)) query.push(`${encoded(random, nonsense(random))}=x`);
  if (random.chance(0.05)) query.push(nonsense(random));
  const separator = random.chance(0.97) ? "&" : random.one([";", "&&", "&amp;", "?"]);
  const slash = random.chance(0.05) ? "/" : "";
  return path + slash + (query.length > 0 ? `?${random.shuffle(query).join(separator)}` : "");
}

/** Paths similar to those of an operation. */
function oddTarget(
  random: Random,
  options: { operation: Operation; existing: Existing },
): string {
  const target = operationTarget(random, options);
  return random.one([
    () => target.replaceAll("/", "//"),
    () => target.replace("/", "/./"),
    () => target.replace("/", "/x/../"),
    () => target.replace("/", "/%2e%2E/"),
    () => target.replace(/\/(?=[^/]*$)/, "%2F"),
    () => target.toUpperCase(),
    () => target.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    () => target.replace(/(?=[?]|$)/, ";a=b"),
    () => target.replace(/(?=[?]|$)/, "//"),
    () => `${target}#${nonsense(random)}`,
    () => target.replaceAll("/", "\\"),
    () => target.slice(0, random.below(target.length + 1)) || "/",
    () => target + nonsense(random),
    () => {
      const at = random.below(target.length);
      return target.slice(0, at) + nonsense(random) + target.slice(at);
    },
  ])();
}

/** A parameter with no, one or several values. */
function assignments(
  random: Random,
  { parameter, existing }: { parameter: ParameterObject; existing: Existing },
): string[] {
  const omitted = parameter.required ? 0.1 : 0.5;
  if (random.chance(omitted)) return [];
  const count = random.chance(0.05) ? 2 + random.below(3) : 1;
  return Array.from({ length: count }, () => {
    if (random.chance(0.02)) return parameter.name;
    const value = random.pick([
      [8, () => sensibleValue(random, { parameter, existing })],
      [2, () => nonsense(random)],
      [1, () => ""],
    ]);
    return `${parameter.name}=${encoded(random, value)}`;
  });
}

function sensibleValue(
  random: Random,
  { parameter: { name, schema, example }, existing }: {
    parameter: ParameterObject;
    existing: Existing;
  },
): string {
  switch (name) {
    case "repository":
      return random.one(REPOSITORIES);
    case "organization_id":
      return random.one(existing.organizationIds);
    case "repository_id":
      return String(random.one(existing.repositoryIds));
    case "q":
      return Array.from({ length: random.below(4) }, () => random.one(QUERIES))
        .join(random.one([" ", "  ", "\t", "\u00a0"]));
    case "after":
      return btoa(random.one([
        `offset:${random.one([0, 1, 5, 10, 2_147_483_647, 2_147_483_648])}`,
        `id:${random.one(existing.testIds)}`,
        `run:${random.one(existing.submissionIds)}:${random.below(4)}`,
        `id:6ab0${"0".repeat(20)}`,
      ])).replace(/=/g, random.one(["=", ""]));
    case "tests":
      return random.shuffle(existing.testIds).slice(0, random.below(4))
        .map((id) => id.slice(random.one([0, 11]))).join(random.one([",", ", ", ",,"]));
    case "base":
    case "branch":
      return random.one(["main", "*", "m*,release/*", "*a*i*", "none", "%", ",", "MAIN"]);
    case "quarantine":
    case "quarantined":
      return random.one(["true", "false", "0", "False"]);
  }
  const values = schema.enum ?? schema.items?.enum;
  if (values) return random.shuffle(values).slice(0, 1 + random.below(3)).join(",");
  if (schema.type === "integer") return String(random.one([0, 1, 2, 10, 99, 100, 101, 1e15]));
  return String(example ?? "x");
}

function encoded(random: Random, value: string): string {
  return random.pick([
    [8, () => encodeURIComponent(value.toWellFormed())],
    [2, () => encodeURIComponent(value.toWellFormed()).replaceAll("%20", "+")],
    [1, () => value],
    [
      1,
      () => encodeURIComponent(value.toWellFormed()).replace(/%/, random.one(["%%", "%u00", "%"])),
    ],
  ]);
}

function headersOf(random: Random, { token, etags }: Existing): [string, string][] {
  const headers: [string, string][] = [];
  const authorization = random.pick<string | null>([
    [16, () => `token ${token}`],
    [4, () => `Bearer ${token}`],
    [2, () => `Basic ${btoa(`x:${token}`)}`],
    [1, () => null],
    [1, () => random.one(["token", "", "Bearer ", `Basic ${btoa("x")}`, "Basic %", "Digest x"])],
    [1, () => `token ${headerNonsense(random)}`],
    [1, () => `token ${token}, token ${token}`],
  ]);
  if (authorization !== null) headers.push(["Authorization", authorization]);
  const more: [string, () => string][] = [
    ["Accept-Encoding", () => random.one(["gzip", "gzip;q=0", "*", "br", "identity;q=0", ";;,"])],
    [
      "If-None-Match",
      () => random.one(["*", '"', '"x"', random.one(etags), `W/${random.one(etags)}, "y"`]),
    ],
    ["X-Request-Id", () => random.one(["trace-1", "a b", "x".repeat(200)])],
    ["X-Request-Id", () => headerNonsense(random)],
    ["Accept", () => random.one(["text/html", "application/xml;q=0", ""])],
    ["Range", () => "bytes=0-10"],
    ["If-Modified-Since", () => "Sat, 01 Jan 2050 00:00:00 GMT"],
    ["Content-Type", () => headerNonsense(random)],
    ["Origin", () => "https://example.org"],
    ["X-HTTP-Method-Override", () => "DELETE"],
    ["X-Forwarded-Prefix", () => "//evil.example.org"],
    ["Cookie", () => headerNonsense(random)],
  ];
  for (const [name, value] of more) if (random.chance(0.08)) headers.push([name, value()]);
  return headers;
}

/** A valid header value: no control characters, nothing above U+00FF. */
function headerNonsense(random: Random): string {
  return nonsense(random).replace(/[^\x20-\x7e\xa0-\xff]/g, "").slice(0, 8_000);
}
