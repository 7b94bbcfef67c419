/** Finds durations for the items of a split: reports name paths and classes differently from tool to tool. */

/** A duration as the API lists it. */
export interface KnownDuration {
  /** The file or class, or the id of a test. */
  key: string;
  microseconds: number;
  /** `null` unless it is of a test. */
  test: { name: string; suite: string; class: string; file: string } | null;
}

/** Microseconds by the name of the item; unknown ones are missing. */
export type ItemDurations = Map<string, number>;

/**
 * The durations of files. A file is found by its path, or the end of it: reports may have absolute paths,
 * or paths below the package of a monorepo. Where no report names it, the classes in it are added up:
 * `tests.test_cart.TestCart` is in `tests/test_cart.py`, `com.acme.CartTest` in
 * `src/test/java/com/acme/CartTest.java`, and many tools report a path or package as the class.
 */
export function durationsOfFiles(
  names: readonly string[],
  { files, classes }: { files: readonly KnownDuration[]; classes: readonly KnownDuration[] },
): ItemDurations {
  const found: ItemDurations = new Map();
  const isPath = ({ key }: KnownDuration) => /[\\/]/.test(key);
  for (const known of [files, classes.filter(isPath)]) {
    const missing = names.filter((name) => !found.has(name));
    for (const [name, duration] of matchPaths(missing, known)) found.set(name, duration);
  }
  const missing = names.filter((name) => !found.has(name));
  for (const [name, duration] of addUpClasses(missing, classes)) found.set(name, duration);
  return found;
}

/**
 * The durations of classes. A nested class (`OrderTest$WhenPaid`) runs with the class that it is in, and so
 * counts for it unless it is an item itself.
 */
export function durationsOfClasses(
  names: readonly string[],
  classes: readonly KnownDuration[],
): ItemDurations {
  const items = new Set(names);
  const found: ItemDurations = new Map();
  for (const { key, microseconds } of classes) {
    let name = key;
    while (!items.has(name) && name.includes("$")) name = name.slice(0, name.lastIndexOf("$"));
    if (items.has(name)) found.set(name, (found.get(name) ?? 0) + microseconds);
  }
  return found;
}

/**
 * The durations of tests: by `class.name`, `class#name`, a node id of pytest, or the name alone where only
 * one test has it.
 */
export function durationsOfTests(
  names: readonly string[],
  tests: readonly KnownDuration[],
): ItemDurations {
  const full = new Map<string, number>();
  const byName = new Map<string, number | null>();
  for (const { test, microseconds } of tests) {
    if (!test) continue;
    for (const sign of [".", "#"]) full.set(`${test.class}${sign}${test.name}`, microseconds);
    byName.set(test.name, byName.has(test.name) ? null : microseconds);
  }
  return new Map(names.flatMap((name) => {
    const duration = full.get(name) ?? full.get(withoutNodeId(name)) ?? byName.get(name) ?? null;
    return duration === null ? [] : [[name, duration]];
  }));
}

/** `tests/test_cart.py::TestCart::test_adds[1]` as pytest reports it: `tests.test_cart.TestCart.test_adds[1]`. */
function withoutNodeId(name: string): string {
  const [path = "", ...rest] = name.split("::");
  return [stemOf(segmentsOf(path)).join("."), ...rest].join(".");
}

function matchPaths(names: readonly string[], known: readonly KnownDuration[]): ItemDurations {
  const byPath = new Map<string, number>();
  // The longest of those with an end in common, by the order of the API.
  const byEnd = new Map<string, number>();
  for (const { key, microseconds } of known) {
    const segments = segmentsOf(key);
    byPath.set(segments.join("/"), microseconds);
    for (const end of endsOf(segments)) if (!byEnd.has(end)) byEnd.set(end, microseconds);
  }
  const found: ItemDurations = new Map();
  for (const name of names) {
    const segments = segmentsOf(name);
    const duration = endsOf(segments).map((end) =>
      byPath.get(end)
    ).find((one) => one !== undefined) ?? byEnd.get(segments.join("/"));
    if (duration !== undefined) found.set(name, duration);
  }
  return found;
}

/** Adds the classes to the file that the longest part of their name is the path of, if it is one. */
function addUpClasses(names: readonly string[], classes: readonly KnownDuration[]): ItemDurations {
  const byEnd = new Map<string, string | null>();
  const stems = names.map((name) => ({ name, stem: stemOf(segmentsOf(name)) }))
    .filter(({ stem }) => stem.length > 0);
  for (const { name, stem } of stems) {
    for (const end of endsOf(stem)) byEnd.set(end, byEnd.has(end) ? null : name);
  }
  // A whole path is the file's own, whatever else ends like it.
  for (const { name, stem } of stems) byEnd.set(stem.join("/"), name);
  const found: ItemDurations = new Map();
  for (const { key, microseconds } of classes) {
    const parts = key.replace(/\$.*$/s, "").split(".");
    for (let count = parts.length; count > 0; count--) {
      const name = byEnd.get(parts.slice(0, count).join("/"));
      if (name === undefined) continue;
      if (name !== null) found.set(name, (found.get(name) ?? 0) + microseconds);
      break;
    }
  }
  return found;
}

function segmentsOf(path: string): string[] {
  return path.split(/[\\/]+/).filter((segment) => segment !== "" && segment !== ".");
}

/** Without the extension of the file. */
function stemOf(segments: readonly string[]): string[] {
  return segments.map((segment, index) =>
    index === segments.length - 1 ? segment.replace(/(?<=.)\.[^.]*$/, "") : segment
  );
}

/** The path and its ends, the longest first. */
function endsOf(segments: readonly string[]): string[] {
  return segments.map((_, start) => segments.slice(start).join("/"));
}
