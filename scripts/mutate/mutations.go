package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// mutation is a change of one place of a file.
type mutation struct {
	file, function string
	start, end     int // bytes of the file that text replaces
	text           string
	change         string // the line before => the line after
}

// String returns the mutation without its place in the file, so that it stays valid when lines
// above it change: the line of the list of equivalents.
func (m mutation) String() string { return m.file + " " + m.function + ": " + m.change }

// swaps are the operators that stand in for each other.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.REM: token.MUL, token.SHL: token.SHR, token.SHR: token.SHL, token.AND: token.OR,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC, token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK,
}

// mutator collects the mutations of one file.
type mutator struct {
	file     *token.File
	path     string
	source   string
	function string
	found    []mutation
}

// mutations returns the mutations of a Go file, in its order: an operator for its neighbour, a
// condition for its opposite, a whole number for another, a statement for none, an error for nil.
func mutations(path, source string) ([]mutation, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	m := &mutator{file: set.File(tree.Pos()), path: path, source: source}
	for _, d := range tree.Decls {
		m.function = "var"
		if f, ok := d.(*ast.FuncDecl); ok {
			m.function = f.Name.Name
		}
		ast.Inspect(d, m.visit)
	}
	return m.found, nil
}

// replace adds the mutation that puts text in place of the source from start to end.
func (m *mutator) replace(start, end token.Pos, text string) {
	from, to := m.file.Offset(start), m.file.Offset(end)
	line := strings.LastIndexByte(m.source[:from], '\n') + 1
	before, _, _ := strings.Cut(m.source[line:], "\n")
	rest, _, _ := strings.Cut(m.source[to:], "\n")
	m.found = append(m.found, mutation{m.path, m.function, from, to, text,
		strings.TrimSpace(before) + " => " + strings.TrimSpace(m.source[line:from]+text+rest)})
}

// operator adds the mutation of an operator at a position.
func (m *mutator) operator(at token.Pos, op token.Token) {
	if other, ok := swaps[op]; ok {
		m.replace(at, at+token.Pos(len(op.String())), other.String())
	}
}

// negate adds the mutation of a condition, which may be missing.
func (m *mutator) negate(e ast.Expr) {
	if e != nil {
		m.replace(e.Pos(), e.End(), "!("+m.text(e)+")")
	}
}

func (m *mutator) text(n ast.Node) string {
	return m.source[m.file.Offset(n.Pos()):m.file.Offset(n.End())]
}

func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.ArrayType:
		return false // the length of an array
	case *ast.BinaryExpr:
		m.operator(n.OpPos, n.Op)
	case *ast.IncDecStmt:
		m.operator(n.TokPos, n.Tok)
	case *ast.BranchStmt:
		if n.Label == nil {
			m.operator(n.TokPos, n.Tok)
		}
	case *ast.AssignStmt:
		m.operator(n.TokPos, n.Tok)
	case *ast.BasicLit:
		m.number(n)
	case *ast.IfStmt:
		m.negate(n.Cond)
	case *ast.ForStmt:
		m.negate(n.Cond)
	case *ast.BlockStmt:
		m.drop(n.List)
	case *ast.CaseClause:
		m.drop(n.Body)
	case *ast.ReturnStmt:
		m.succeed(n)
	}
	return true
}

// number adds n+1 in place of a whole number n, and 0 in place of 1.
func (m *mutator) number(n *ast.BasicLit) {
	value, err := strconv.ParseInt(n.Value, 0, 62)
	if n.Kind != token.INT || err != nil {
		return
	}
	m.replace(n.Pos(), n.End(), strconv.FormatInt(value+1, 10))
	if value == 1 {
		m.replace(n.Pos(), n.End(), "0")
	}
}

// drop adds the mutations that leave out a statement of a block which declares nothing.
func (m *mutator) drop(block []ast.Stmt) {
	for _, s := range block {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.IfStmt, *ast.SendStmt:
		case *ast.ReturnStmt:
			if len(s.Results) > 0 {
				continue
			}
		default:
			continue
		}
		m.replace(s.Pos(), s.End(), "")
	}
}

// succeed adds the mutation that returns nil in place of an error: of err, and of a new one.
func (m *mutator) succeed(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	text := m.text(last)
	for _, maker := range []string{"fmt.Errorf(", "errors.New(", "errors.Join("} {
		if strings.HasPrefix(text, maker) {
			m.replace(last.Pos(), last.End(), "error(nil)")
			return
		}
	}
	if text == "err" {
		m.replace(last.Pos(), last.End(), "nil")
	}
}

// apply returns the source with the mutation in it.
func (m mutation) apply(source string) string {
	return source[:m.start] + m.text + source[m.end:]
}

// describe returns the mutation with the number of its line.
func (m mutation) describe(source string) string {
	return fmt.Sprintf("%s:%d %s: %s", m.file, strings.Count(source[:m.start], "\n")+1, m.function, m.change)
}
