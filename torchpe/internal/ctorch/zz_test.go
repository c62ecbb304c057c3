package ctorch
import ("testing";"fmt";"os";"os/exec")
func TestZZ(t *testing.T){
 var o operation
 for _,x:=range operations { if x.c=="tp_index_select" {o=x}}
 if k:=os.Getenv("ZZ"); k!="" {
  var i,j int
  fmt.Sscan(k,&i,&j)
  for range 200 {
  odd:=oddities(); a:=o.good()
  if i>=0 {a=a.with(0,odd[i])}
  if j>=0 {a=a.with(1,odd[j])}
  err:=o.call(t,a)
  _ = err
  a.free(); Release(odd)
  }
  return
 }
 n:=len(oddities())
 for i:=-1;i<n;i++{ for j:=-1;j<n;j++{
  c:=exec.Command(os.Args[0],"-test.run=TestZZ"); c.Env=append(os.Environ(),fmt.Sprintf("ZZ=%d %d",i,j))
  c.Env=append(c.Env,"MALLOC_CHECK_=3","MALLOC_PERTURB_=7")
  out,err:=c.CombinedOutput()
  if err!=nil && c.ProcessState.ExitCode()!=1 { if len(out)>200{out=out[:200]}; fmt.Println(i,j,string(out)) }
 }}
}
