// The command lines of a process and of all that run below it: `node below.mjs PID` prints them.
import { readFileSync, readdirSync } from 'node:fs';

const read = (pid, file) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    // It has ended.
    return '';
  }
};

export function below(pid) {
  const parents = new Map();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    // The name before it stands in brackets, and may hold anything.
    const [, parent] = read(entry, 'stat').split(')').pop().trim().split(' ');
    parents.set(Number(entry), Number(parent));
  }
  const isBelow = (one) => one === pid || (parents.has(one) && isBelow(parents.get(one)));
  const found = [...parents.keys()].filter(isBelow);
  return found.map((one) => read(one, 'cmdline').replaceAll('\0', ' ') + '\n').join('');
}

if (process.argv[1]?.endsWith('below.mjs')) process.stdout.write(below(Number(process.argv[2])));
