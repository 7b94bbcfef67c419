/**
 * A write of postgres.js that comes after its connection was lost throws where nobody can catch it,
 * and would end the process (porsager/postgres, issue 1208). It happens to every transaction that is
 * cut off: the library sends a rollback after it. The transaction itself has failed by then, and its
 * connection is not used any more, so there is nothing left to do.
 */

let isListening = false;

/** From now on such a write is passed over; every other error ends the process as before. */
export function surviveLostWrites(): void {
  if (isListening) return;
  isListening = true;
  globalThis.addEventListener("error", (event) => {
    if (isLostWrite(event.error)) event.preventDefault();
  });
}

function isLostWrite(error: unknown): boolean {
  return error instanceof TypeError && /of null \(reading 'write'\)/.test(error.message) &&
    /\bnextWrite\b/.test(error.stack ?? "");
}
