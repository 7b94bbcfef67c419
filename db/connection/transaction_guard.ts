import type postgres from "postgres";
import { connectionLost } from "./errors.ts";
import { forwardingProxy } from "./forwarding_proxy.ts";
import { observeStatement } from "./observe_statement.ts";
import { errorCode } from "../../lib/base/error.ts";

type Callable = (...args: unknown[]) => unknown;

export type BeginArguments = Parameters<postgres.Sql["begin"]>;

/**
 * Keeps a transaction from sending anything after its connection was lost: postgres.js 3.4.9 would
 * never settle a statement, and its own `rollback` or `commit` throws outside of any promise, which
 * ends the process (porsager/postgres, issue 1208).
 */
export class TransactionGuard {
  /** Set once the transaction has settled, also because its connection was lost. */
  isOver = false;
  /** The server process that runs it, known after its first statement. */
  pid: number | undefined;

  /** The arguments of `begin` with a guarded body. */
  guard(args: BeginArguments, onBegin: () => void): BeginArguments {
    // Options may precede it.
    const body = args.at(-1) as unknown as (tx: postgres.TransactionSql) => unknown;
    const guardedBody = async (tx: postgres.TransactionSql) => {
      onBegin();
      try {
        const result = body(this.#guarded(tx));
        const settled = await (Array.isArray(result) ? Promise.all(result) : result);
        if (!this.isOver) return settled;
      } catch (error) {
        if (!this.isOver) throw error;
      }
      // `begin` has failed already. It must not see the end of its body.
      return await new Promise(() => {});
    };
    return [...args.slice(0, -1), guardedBody] as unknown as BeginArguments;
  }

  #guarded(tx: postgres.TransactionSql): postgres.TransactionSql {
    return forwardingProxy(() => tx, (...values) => {
      if (this.isOver) throw connectionLost();
      // Known here before `begin` fails.
      return observeStatement((tx as unknown as Callable)(...values), () => (settled) => {
        if ("result" in settled) this.pid ??= settled.result.state.pid;
        else if (errorCode(settled.error) === "CONNECTION_CLOSED") this.isOver = true;
      });
    });
  }
}
