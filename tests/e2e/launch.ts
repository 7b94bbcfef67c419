/** Starting programs that are killed later. */
import { type Ending, follow } from "./child.ts";
import { command } from "./program.ts";

/** A running program. */
export interface Launched {
  /** Whether it has exited or was killed. */
  isOver(): boolean;
  /** Sends SIGKILL unless it has ended. */
  kill(): Promise<Ending>;
  /** Sends SIGTERM unless it has ended. */
  stop(): Promise<Ending>;
  /** Resolves when it has ended. */
  ending: Promise<Ending>;
}

/** Starts a command without waiting for it. */
export function launch(args: string[], environment: Record<string, string>): Launched {
  const { isOver, ending, end } = follow(command(args, { environment }).spawn());
  return { isOver, ending, kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}
