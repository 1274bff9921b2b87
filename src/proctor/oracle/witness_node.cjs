'use strict';
// Watches jest or vitest as one of their reporters, and tells the judge what really ran, in the form and over the
// line of `witness.py`. It is loaded before any test, takes what it needs at once, and speaks when the run is over.
// Code that sets out to search this process's memory can still forge a report where tests run in it.
const fs = require('fs');
const path = require('path');

const SECRET_LENGTH = 64;
const LINE = 0;
const EXCERPT = 500;
const FIELD = '\x1f';
const RECORD = '\x1e';
const PASSED = 'passed';
const FAILED = 'failed';
const SKIPPED = 'skipped';
const VITEST = { pass: PASSED, fail: FAILED, skip: SKIPPED, todo: SKIPPED };
const { ftruncateSync, writeSync } = fs;
const { concat, from } = Buffer;
const here = process.cwd();
const secret = take();

function take() {
  const found = Buffer.allocUnsafeSlow(SECRET_LENGTH);
  try {
    if (!fs.fstatSync(LINE).isFile() || fs.readSync(LINE, found, 0, SECRET_LENGTH, 0) !== SECRET_LENGTH) return null;
    ftruncateSync(LINE, 0);
  } catch {
    return null;
  }
  return found;
}

class Notes {
  constructor() {
    this.outcomes = new Map();
  }

  add(name, outcome, message) {
    if (this.outcomes.get(name)?.outcome !== FAILED) this.outcomes.set(name, { outcome, message: plain(message) });
  }

  tell() {
    if (!secret) return;
    const rows = [];
    for (const [name, { outcome, message }] of this.outcomes) {
      rows.push([outcome, clean(name), outcome === FAILED ? message : ''].join(FIELD));
    }
    const report = concat([secret, from(rows.join(RECORD) + RECORD), secret]);
    secret.fill(0);
    ftruncateSync(LINE, 0);
    for (let done = 0; done < report.length; ) done += writeSync(LINE, report, done, report.length - done, done);
  }
}

function clean(text) {
  return String(text).replace(/[\x00-\x08\x0b-\x1f]/g, '?');
}

/** The first lines of an error, up to its stack, without colours. */
function plain(message) {
  const lines = String(message ?? '').replace(/\x1b\[[\d;]*m/g, '').split('\n').map((line) => line.trim());
  const end = lines.findIndex((line) => /^at .+:\d+/.test(line));
  return clean(lines.slice(0, end < 0 ? undefined : end).filter(Boolean).join(' ')).slice(0, EXCERPT);
}

function idOf(file, names) {
  const place = path.relative(here, file).split(path.sep).join('/');
  return names.length ? `${place}::${names.join(' > ')}` : place;
}

module.exports = class Witness {
  #context;
  #over = false;

  onRunComplete(_, results) {
    const notes = new Notes();
    for (const suite of results.testResults) {
      for (const test of suite.testResults) {
        const outcome = test.status === PASSED ? (test.failing ? SKIPPED : PASSED) : test.status;
        notes.add(
          idOf(suite.testFilePath, [...test.ancestorTitles, test.title]),
          outcome === PASSED || outcome === FAILED ? outcome : SKIPPED,
          test.failureMessages?.[0],
        );
      }
      const failed = suite.testResults.some((test) => test.status === FAILED);
      if (suite.testExecError || (suite.failureMessage && !failed)) {
        notes.add(idOf(suite.testFilePath, []), FAILED, suite.testExecError?.message ?? suite.failureMessage);
      }
    }
    this.#end(notes);
  }

  onInit(context) {
    this.#context = context;
  }

  onFinished() {
    this.#vitest();
  }

  onTestRunEnd() {
    this.#vitest();
  }

  #vitest() {
    const notes = new Notes();
    for (const file of this.#context.state.getFiles()) walk(notes, file.filepath, file, []);
    this.#end(notes);
  }

  #end(notes) {
    if (!this.#over) notes.tell();
    this.#over = true;
  }
};

function walk(notes, file, task, names) {
  const state = task.result?.state ?? (task.mode === 'skip' || task.mode === 'todo' ? 'skip' : 'fail');
  const message = task.result?.errors?.[0]?.message ?? 'did not run';
  if (!task.tasks) {
    const outcome = VITEST[state] ?? FAILED;
    notes.add(idOf(file, names), outcome === PASSED && task.fails ? SKIPPED : outcome, message);
    return;
  }
  for (const child of task.tasks) walk(notes, file, child, [...names, child.name]);
  if (task.result?.errors?.length) notes.add(idOf(file, names), FAILED, message);
}
