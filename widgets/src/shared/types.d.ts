import type { Markup } from './text.js';

/** What a widget needs of a model; anywidget's AnyModel and the page's own both have it. */
export interface Model {
  get(name: string): any;
  set(name: string, value: unknown): void;
  on(event: `change:${string}`, handler: () => void): void;
  off(event: `change:${string}`, handler: () => void): void;
  save_changes(): void;
}

interface Labelled {
  /** Name of the trait that the control moves. */
  name: string;
  label: string;
}

/** A slider over a list of stops, so that every position is a value that someone would say. */
export interface RangeControl extends Labelled {
  kind: 'range';
  stops: readonly number[];
  value: number;
  /** The value as it is shown and spoken. */
  text: string;
}

export interface SelectControl extends Labelled {
  kind: 'select';
  /** Its options are sentences. */
  wide?: boolean;
  value: string;
  options: { value: string; text: string }[];
}

export interface ChoiceControl extends Labelled {
  kind: 'choice';
  value: number;
  options: { value: number; text: string }[];
}

/** Buttons and a slider over the steps of a run. */
export interface StepperControl extends Labelled {
  kind: 'stepper';
  value: number;
  last: number;
  text: string;
}

export type Control = RangeControl | SelectControl | ChoiceControl | StepperControl;

export interface Canvas {
  /** Width of the drawing in CSS pixels. */
  width: number;
  /** Unique in the document: patterns and markers are found by id. */
  id: string;
  /** The step that the drawing may animate from: absent where nothing moves. */
  from?: number;
}

/** One widget: everything in it is a pure function of its state. */
export interface Widget<S extends Record<string, any>> {
  name: string;
  /** Class of the root, which scopes the style. */
  className: string;
  /** What a screen reader calls the group of controls. */
  title: string;
  /** Traits that are read; the state is rebuilt when any of them changes. */
  traits: readonly string[];
  read(get: (trait: string) => any): S;
  /** Throws an Error that names the trait if the state is none that the controls or a kernel can make. */
  check(state: S): void;
  controls(state: S): Control[];
  /** Traits to set when a control moves. */
  change(state: S, name: string, value: number | string): Partial<S>;
  draw(state: S, canvas: Canvas): Markup;
  /** What an ordinary image of the drawing is called. */
  alt(state: S): string;
  /** What has changed, in a sentence or two. */
  say(state: S): string;
  /** Part of the run that the step is in: while it plays, only another part and the end are announced. */
  phase?(state: S): string;
  prompts: readonly string[];
  /** Key and value in the page's address. */
  addressKey: string;
  toAddress(state: S): string;
  /** Throws an Error whose message says what is wrong. */
  fromAddress(text: string, state: S): Partial<S>;
  /** The Python that makes the same state. */
  code(state: S): string;
}
