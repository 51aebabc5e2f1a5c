/** The order of a table's rows: by a column. */
export interface Order<Name> {
  readonly column: Name;
  readonly isDescending: boolean;
}
