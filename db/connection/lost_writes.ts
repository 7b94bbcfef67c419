/**
 * After a connection is lost inside a transaction, postgres.js 3.4.9 sends a rollback on it, which
 * throws outside of any promise and would end the process (porsager/postgres, issue 1208). The
 * transaction has failed by then and its connection is not used again, so the error can be ignored.
 */

let isInstalled = false;

/** Ignores errors of such writes from now on; any other uncaught error still ends the process. */
export function ignoreLostWrites(): void {
  if (isInstalled) return;
  isInstalled = true;
  globalThis.addEventListener("error", (event) => {
    if (isLostWrite(event.error)) event.preventDefault();
  });
}

function isLostWrite(error: unknown): boolean {
  return error instanceof TypeError && /of null \(reading 'write'\)/.test(error.message) &&
    /\bnextWrite\b/.test(error.stack ?? "");
}
