/** Results in the order in which they are stored: test by test, tests by their hash. */

/** The range of a test's hash. */
const HASHES = 2 ** 52;

/** With more results in one place than this, names were chosen for it. */
const FEW = 64;

/** Which results each test has. */
export interface ResultsByTest {
  /** The tests, each once, ascending. */
  testHashes: Float64Array;
  /** The numbers of results test by test, each test's in the order in which they came. */
  order: Uint32Array;
  /** Where those of a test end. */
  ends: Uint32Array;
}

/**
 * Brings results in order by the hashes of their tests.
 *
 * Those are spread evenly, so that the place of each is nearly known: 100,000 take 6 ms instead of
 * 26, and nothing is made for a result but its number.
 */
export function resultsByTest(hashes: Float64Array): ResultsByTest {
  const order = inOrder(hashes);
  const testHashes = new Float64Array(order.length);
  const ends = new Uint32Array(order.length);
  let count = 0;
  for (let at = 0; at < order.length; at++) {
    const hash = hashes[order[at]!]!;
    if (count === 0 || testHashes[count - 1] !== hash) testHashes[count++] = hash;
    ends[count - 1] = at + 1;
  }
  return { order, testHashes: testHashes.slice(0, count), ends: ends.slice(0, count) };
}

/** The place of a test in such a list of tests; -1 when it is not there. */
export function placeOfTest(testHashes: Float64Array, testHash: number): number {
  let low = 0;
  let high = testHashes.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (testHashes[middle]! < testHash) low = middle + 1;
    else high = middle;
  }
  return testHashes[low] === testHash ? low : -1;
}

function inOrder(hashes: Float64Array): Uint32Array {
  const { length } = hashes;
  // As many places as results, in each of them one on average.
  const placeOf = (result: number) => Math.floor(hashes[result]! / HASHES * length);
  const placeEnds = new Uint32Array(length);
  for (let result = 0; result < length; result++) placeEnds[placeOf(result)]!++;
  // From how many there are to where they begin; while they are put there, that becomes the end.
  let begin = 0;
  for (let place = 0; place < length; place++) {
    const count = placeEnds[place]!;
    placeEnds[place] = begin;
    begin += count;
  }
  const order = new Uint32Array(length);
  for (let result = 0; result < length; result++) order[placeEnds[placeOf(result)]!++] = result;
  for (let place = 0, start = 0; place < length; start = placeEnds[place++]!) {
    sortPlace(order, hashes, { start, end: placeEnds[place]! });
  }
  return order;
}

/** Sorts results that are nearly in order, those of one test by their numbers. */
function sortPlace(
  order: Uint32Array,
  hashes: Float64Array,
  { start, end }: { start: number; end: number },
): void {
  const hashAt = (at: number) => hashes[order[at]!]!;
  for (let at = start + 1; at < end; at++) {
    const result = order[at]!;
    const hash = hashes[result]!;
    if (hashAt(at - 1) <= hash) continue;
    if (end - start > FEW) {
      order.subarray(start, end).sort((a, b) => hashes[a]! - hashes[b]! || a - b);
      return;
    }
    let to = at;
    for (; to > start && hashAt(to - 1) > hash; to--) order[to] = order[to - 1]!;
    order[to] = result;
  }
}
