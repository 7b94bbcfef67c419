/** The tools of the laboratory. */
import { COMPILED } from "./compiled.ts";
import { JAVASCRIPT } from "./javascript.ts";
import { JVM } from "./jvm.ts";
import { PYTHON } from "./python.ts";
import { SCRIPTS } from "./scripts.ts";
import type { Tool } from "./tool.ts";

export const TOOLS: Record<string, Tool> = {
  ...JAVASCRIPT,
  ...PYTHON,
  ...JVM,
  ...COMPILED,
  ...SCRIPTS,
};
