/** Programs that are measured: each in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { V8_FLAGS } from "../../permissions.ts";
import { pause } from "../../../lib/base/delay.ts";

/** A program that answers requests. */
export interface Contestant {
  /** Such as `http://127.0.0.1:4711`. */
  url: string;
  pid: number;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 3_000;
const LOOK_EVERY_MS = 5;

/**
 * Starts a program and waits until it prints on standard error where it listens. Its output goes to a
 * file, as that of a service does: a reader of a pipe would take processor time from it.
 */
export async function startContestant(
  command: string,
  args: string[],
  environment: Record<string, string> = {},
): Promise<Contestant> {
  const file = await Deno.makeTempFile({ prefix: "test-analytics-bench-log-" });
  const log = openSync(file, "a");
  const child = spawn(command, args, {
    stdio: ["ignore", "ignore", log],
    env: { ...Deno.env.toObject(), ...environment },
  });
  closeSync(log);
  const removeLog = () => Deno.remove(file);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    // Some wait for connections that are never closed.
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  };
  try {
    const url = await listeningAddress(child, file);
    return { url, pid: child.pid!, stop: () => stop().finally(removeLog) };
  } catch (error) {
    await stop().finally(removeLog);
    throw error;
  }
}

async function listeningAddress(child: ChildProcess, file: string): Promise<string> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (true) {
    const said = await Deno.readTextFile(file);
    const address = /listening on (http:\S+)/.exec(said)?.[1];
    if (address) return address;
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`a contestant did not start: ${said}`);
    }
    await pause(LOOK_EVERY_MS);
  }
}

/** The program itself, from source, with the memory of a release. */
export function startProgram(databaseUrl: string): Promise<Contestant> {
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  return startContestant(Deno.execPath(), ["run", "-A", V8_FLAGS, main, "serve", "--port", "0"], {
    DATABASE_URL: databaseUrl,
  });
}

/**
 * Runs a command of the program, from source, to its end, under GNU time, which tells its greatest
 * memory.
 *
 * @param outputFile where its standard output goes; nowhere unless given
 */
export async function runProgram(
  args: string[],
  environment: Record<string, string>,
  outputFile = "/dev/null",
): Promise<{ seconds: number; peakRssMb: number }> {
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  const started = performance.now();
  const { success, stderr } = await new Deno.Command("sh", {
    // The shell's redirection, so that no process in between copies the output.
    args: [
      ...["-c", 'exec /usr/bin/time -f %M "$@" > "$OUTPUT"', "sh"],
      ...[Deno.execPath(), "run", "-A", main, ...args],
    ],
    env: { ...environment, OUTPUT: outputFile },
    stdout: "null",
  }).output();
  const seconds = (performance.now() - started) / 1000;
  const printed = new TextDecoder().decode(stderr).trim();
  if (!success) throw new Error(`${args[0]}: ${printed}`);
  return { seconds, peakRssMb: Number(printed.split("\n").at(-1)) / 1024 };
}

/** A contestant of `contestants/` that runs on Deno. */
export function startDeno(file: string, ...args: string[]): Promise<Contestant> {
  const path = new URL(`./contestants/${file}`, import.meta.url).pathname;
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  return startContestant(Deno.execPath(), ["run", "-A", "--config", config, path, ...args]);
}

/** Runs a contestant of `contestants/` on Deno to its end. @returns the JSON that it prints */
export function denoRun(file: string, ...args: string[]): Promise<unknown> {
  const path = new URL(`./contestants/${file}`, import.meta.url).pathname;
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  return runToEnd(Deno.execPath(), ["run", "-A", "--config", config, path, ...args]);
}

async function runToEnd(command: string, args: string[]): Promise<unknown> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${args.join(" ")}: ${decoder.decode(stderr)}`);
  return JSON.parse(decoder.decode(stdout));
}
