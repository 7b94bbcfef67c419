/** Programs that are killed. */
import { command, type Ending } from "./program.ts";

/** A program that runs. */
export interface Launched {
  /** Whether it has ended, by itself or not. */
  isOver(): boolean;
  /** Ends it at once, with no chance to clean up, unless it has ended; returns what it left. */
  kill(): Promise<Ending>;
  /** Tells it to end, unless it has ended; returns what it left. */
  stop(): Promise<Ending>;
  /** Waits for its end. */
  ending: Promise<Ending>;
}

/** Starts a command and does not wait for it. */
export function launch(args: string[], environment: Record<string, string>): Launched {
  const child = command(args, { environment }).spawn();
  let isOver = false;
  void child.status.then(() => isOver = true);
  const ending = child.output().then(({ code, stdout, stderr }) => ({
    code,
    stdout: new TextDecoder().decode(stdout),
    stderr: new TextDecoder().decode(stderr),
  }));
  const end = (signal: Deno.Signal) => {
    if (!isOver) child.kill(signal);
    return ending;
  };
  return {
    isOver: () => isOver,
    ending,
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
  };
}

/** Waits. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
